import Bytes
import Testing

/// The reference's key 00 01 … 0f and input 00 01 … of so many bytes; the results as `openssl mac SIPHASH` prints them.
private let vectors: [(Int, String)] = [
    (0, "a3817f04ba25a8e66df67214c7550293"),
    (1, "da87c1d86b99af44347659119b22fc45"),
    (7, "a1f1ebbed8dbc153c0b84aa61ff08239"),
    (8, "3b62a9ba6258f5610f83e264f31497b4"),
    (15, "5493e99933b0a8117e08ec0f97cfc3d9"),
    (64, "1eaf077dc0d4cd3f8cad4d383658a74b"),
    (1000, "24dafa789ae03d86536a4b57372f0ba6"),
]

struct KeyedHashTests {
    private let seed = KeyedHash.Seed(low: 0x0706_0504_0302_0100, high: 0x0F0E_0D0C_0B0A_0908)

    private func hash(_ pieces: [[UInt8]]) -> String {
        var hash = KeyedHash(seed)
        for piece in pieces { hash.add(piece.span) }
        let (low, high) = hash.finish()
        return Hexadecimal.digits(low.byteSwapped).text + Hexadecimal.digits(high.byteSwapped).text
    }

    @Test(arguments: vectors) func isSipHash(_ count: Int, expected: String) {
        let input = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
        #expect(hash([input]) == expected)
        for cut in [1, 3, 8, 9] where cut < count {
            #expect(hash([Array(input[..<cut]), Array(input[cut...])]) == expected)
        }
    }

    @Test func takesANumberAsItsBytes() {
        var number = KeyedHash(seed)
        number.add(UInt64(0x0807_0605_0403_0201))
        #expect(
            Hexadecimal.digits(number.finish().low.byteSwapped).text == hash([[1, 2, 3, 4, 5, 6, 7, 8]]).prefix(16))
    }
}
