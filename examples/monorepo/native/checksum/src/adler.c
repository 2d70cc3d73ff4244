#include "adler.h"

uint32_t adler32(uint32_t sum, const unsigned char *data, size_t size) {
  uint32_t a = sum & 0xFFFFu;
  uint32_t b = sum >> 16;
  for (size_t i = 0; i < size; ++i) {
    a = (a + data[i]) % 65521u;
    b = (b + a) % 65521u;
  }
  return b << 16 | a;
}
