/* CRC32C (Castagnoli, reflected polynomial 0x82F63B78; RFC 3720, appendix B.4), with the processor's instruction
 * where it has one and slicing-by-8 elsewhere. */
#ifndef CCHECKSUM_H
#define CCHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* Continues `seed`, the value of an earlier call or 0, over `count` bytes. "123456789" gives 0xE3069283. */
uint32_t cc_crc32c(uint32_t seed, const void *bytes, size_t count);

/* The table-driven way alone; the reference in tests. */
uint32_t cc_crc32c_portable(uint32_t seed, const void *bytes, size_t count);

#endif
