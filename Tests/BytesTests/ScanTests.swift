import Bytes
import Testing

/// The scans of eight bytes a step against a look at each byte.
struct ScanTests {
    private static let alphabet: [UInt8] = [
        0x00, 0x1F, 0x20, 0x21, 0x22, 0x23, 0x5B, 0x5C, 0x5D, 0x61, 0x7F, 0x80, 0xA2, 0xDC, 0xFF,
    ]

    private static func first(in bytes: [UInt8], from start: Int, _ isStop: (UInt8) -> Bool) -> Int {
        bytes.indices.first { $0 >= start && isStop(bytes[$0]) } ?? max(start, bytes.count)
    }

    @Test(arguments: [UInt64(1), 2, 3]) func findTheFirstStop(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        for _ in 0..<2_000 {
            let plain = random.next() % 3 == 0
            let bytes = (0..<Int(random.next() % 40)).map { _ in
                plain && random.next() % 8 > 0 ? 0x61 : Self.alphabet[Int(random.next() % UInt64(Self.alphabet.count))]
            }
            let start = Int(random.next() % UInt64(bytes.count + 1))
            let byte = Self.alphabet[Int(random.next() % UInt64(Self.alphabet.count))]
            let place = Self.first(in: bytes, from: start) { $0 == byte }
            #expect(bytes.span.firstIndex(of: byte, from: start) == (place < bytes.count ? place : nil), "seed \(seed)")
            #expect(
                bytes.span.firstStopOfString(from: start)
                    == Self.first(in: bytes, from: start) { $0 < 0x20 || $0 >= 0x80 || $0 == 0x22 || $0 == 0x5C },
                "seed \(seed)")
            #expect(
                bytes.span.firstQuoteOrBackslash(from: start)
                    == Self.first(in: bytes, from: start) { $0 == 0x22 || $0 == 0x5C }, "seed \(seed)")
        }
    }

    @Test func appendsWordsBytesAndPadding() {
        var bytes: [UInt8] = [9]
        bytes.append(words: [0x0102, UInt64.max], [UInt8](repeating: 7, count: 3).span, paddedTo: 8)
        #expect(bytes == [9, 2, 1, 0, 0, 0, 0, 0, 0] + [UInt8](repeating: 255, count: 8) + [7, 7, 7, 0, 0, 0, 0, 0])
        bytes.append(contentsOf: [UInt8]().span)
        bytes.appendZeros(0)
        #expect(bytes.count == 25)
        var empty: [UInt8] = []
        empty.appendZeros(0)
        empty.append(words: [], [UInt8]().span, paddedTo: 8)
        #expect(empty.isEmpty)
    }
}
