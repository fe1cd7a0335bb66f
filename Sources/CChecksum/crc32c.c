#include "CChecksum.h"

#include <string.h>

#define POLYNOMIAL 0x82F63B78u

static uint32_t table[8][256];

__attribute__((constructor)) static void fill_table(void) {
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t value = i;
        for (int bit = 0; bit < 8; bit++) value = value & 1 ? value >> 1 ^ POLYNOMIAL : value >> 1;
        table[0][i] = value;
    }
    for (uint32_t i = 0; i < 256; i++)
        for (int slice = 1; slice < 8; slice++)
            table[slice][i] = table[slice - 1][i] >> 8 ^ table[0][table[slice - 1][i] & 255];
}

uint32_t cc_crc32c_portable(uint32_t seed, const void *bytes, size_t count) {
    const unsigned char *at = bytes;
    uint32_t crc = ~seed;
    while (count >= 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        word ^= crc;
        crc = table[7][word & 255] ^ table[6][word >> 8 & 255] ^ table[5][word >> 16 & 255] ^
              table[4][word >> 24 & 255] ^ table[3][word >> 32 & 255] ^ table[2][word >> 40 & 255] ^
              table[1][word >> 48 & 255] ^ table[0][word >> 56];
        at += 8;
        count -= 8;
    }
    while (count--) crc = crc >> 8 ^ table[0][(crc ^ *at++) & 255];
    return ~crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) static uint32_t by_instruction(uint32_t seed, const void *bytes, size_t count) {
    const unsigned char *at = bytes;
    uint64_t crc = (uint32_t)~seed;
    while (count >= 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        crc = __builtin_ia32_crc32di(crc, word);
        at += 8;
        count -= 8;
    }
    uint32_t rest = (uint32_t)crc;
    while (count--) rest = __builtin_ia32_crc32qi(rest, *at++);
    return ~rest;
}
static int has_instruction(void) { return __builtin_cpu_supports("sse4.2"); }
#elif defined(__aarch64__)
#include <arm_acle.h>
#include <sys/auxv.h>
#ifndef HWCAP_CRC32
#define HWCAP_CRC32 (1 << 7)
#endif
__attribute__((target("crc"))) static uint32_t by_instruction(uint32_t seed, const void *bytes, size_t count) {
    const unsigned char *at = bytes;
    uint32_t crc = ~seed;
    while (count >= 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        crc = __crc32cd(crc, word);
        at += 8;
        count -= 8;
    }
    while (count--) crc = __crc32cb(crc, *at++);
    return ~crc;
}
static int has_instruction(void) { return (getauxval(AT_HWCAP) & HWCAP_CRC32) != 0; }
#else
#define by_instruction cc_crc32c_portable
static int has_instruction(void) { return 0; }
#endif

static uint32_t (*chosen)(uint32_t, const void *, size_t) = cc_crc32c_portable;

__attribute__((constructor)) static void choose(void) {
    if (has_instruction()) chosen = by_instruction;
}

uint32_t cc_crc32c(uint32_t seed, const void *bytes, size_t count) { return chosen(seed, bytes, count); }
