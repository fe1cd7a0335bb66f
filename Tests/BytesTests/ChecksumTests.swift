import Bytes
import Testing

struct ChecksumTests {
    @Test func knowsTheCheckValue() {
        let digits = Array("123456789".utf8)
        #expect(CRC32C.of(digits.span) == 0xE306_9283)
        #expect(CRC32C.portable(digits.span) == 0xE306_9283)
    }

    @Test func agreesWithTheTables() {
        var random = SplitMix64(seed: 7)
        for length in 0..<300 {
            let bytes = (0..<length).map { _ in UInt8(truncatingIfNeeded: random.next()) }
            let seed = UInt32(truncatingIfNeeded: random.next())
            #expect(CRC32C.of(bytes.span, seed: seed) == CRC32C.portable(bytes.span, seed: seed))
            let cut = length / 3
            let head = CRC32C.of(bytes, in: 0..<cut, seed: seed)
            #expect(CRC32C.of(bytes, in: cut..<length, seed: head) == CRC32C.of(bytes.span, seed: seed))
        }
    }
}
