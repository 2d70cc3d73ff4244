#ifndef ADLER_H
#define ADLER_H

#include <stddef.h>
#include <stdint.h>

/* Adler-32 over a buffer; start with 1. */
uint32_t adler32(uint32_t sum, const unsigned char *data, size_t size);

#endif
