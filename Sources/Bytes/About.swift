// Bytes: byte arrays, spans, the little-endian codec, CRC32C, hexadecimal, and seeded random numbers.
//
// May import: CChecksum.
