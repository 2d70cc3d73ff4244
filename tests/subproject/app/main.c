#include <stdio.h>
#include <vx/vx.h>

int main(void) {
  vx_digest digest;
  char text[VX_DIGEST_TEXT];
  if (vx_digest_bytes("", 0, &digest, NULL) != VX_OK) return 1;
  vx_digest_hex(&digest, text);
  return puts(text) < 0 || vx_version_number() < 100;
}
