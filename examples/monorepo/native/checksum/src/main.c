/* Prints the Adler-32 of standard input as eight hexadecimal digits. */
#include <inttypes.h>
#include <stdio.h>

#include "adler.h"

int main(void) {
  unsigned char buffer[4096];
  uint32_t sum = 1;
  size_t n = 0;
  while ((n = fread(buffer, 1, sizeof buffer, stdin)) > 0) sum = adler32(sum, buffer, n);
  if (ferror(stdin)) return 1;
  printf("%08" PRIx32 "\n", sum);
  return 0;
}
