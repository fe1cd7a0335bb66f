import Bytes
import Testing
import Time

struct CodecTests {
    @Test func storesLittleEndian() {
        var bytes: [UInt8] = []
        bytes.appendLittleEndian(UInt32(0x0102_0304))
        bytes.appendLittleEndian(Int64(-2))
        #expect(bytes == [4, 3, 2, 1, 0xFE, 255, 255, 255, 255, 255, 255, 255])
        bytes.storeLittleEndian(UInt16(0xABCD), at: 1)
        #expect(bytes.loadLittleEndian(at: 1, as: UInt16.self) == 0xABCD)
        #expect(bytes.span.loadLittleEndian(at: 4, as: Int64.self) == -2)
    }

    @Test func writesDecimals() {
        var bytes: [UInt8] = []
        for value in [0, 7, -10, Int.max, Int.min] {
            bytes.removeAll()
            bytes.append(decimal: value)
            #expect(bytes.text == "\(value)")
        }
        bytes.removeAll()
        bytes.append(decimal: UInt64.max)
        #expect(bytes.text == "\(UInt64.max)")
    }

    /// The vectors of RFC 4648, section 10, and the last digits.
    @Test func writesBase64() {
        for (text, digits) in [
            ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("foobar", "Zm9vYmFy"),
        ] {
            #expect(Base64.digits(of: Array(text.utf8)).text == digits)
        }
        #expect(Base64.digits(of: [0xFB, 0xFF, 0xFE]).text == "+//+")
    }

    @Test func readsAndWritesHexadecimal() {
        #expect(Hexadecimal.digits(0x1F, count: 4) == Array("001f".utf8))
        #expect(Hexadecimal.value(Array("fFffFFffffffffff".utf8)) == UInt64.max)
        #expect(Hexadecimal.value(Array("12g".utf8)) == nil)
        #expect(Hexadecimal.value([]) == nil)
    }

    @Test func writesCivilTimes() {
        #expect(WallTime(milliseconds: 0).rfc3339.text == "1970-01-01T00:00:00.000Z")
        #expect(WallTime(milliseconds: 951_782_400_007).rfc3339.text == "2000-02-29T00:00:00.007Z")
        #expect(WallTime(milliseconds: -1).rfc3339.text == "1969-12-31T23:59:59.999Z")
        #expect(WallTime(year: 2000, month: 2, day: 29, secondOfDay: 0, millisecond: 7).milliseconds == 951_782_400_007)
    }

    @Test func instantsStayInRange() {
        let late = Instant(nanoseconds: .max - 1)
        #expect(late + .seconds(5) == .distantFuture)
        #expect(Instant(nanoseconds: 5_000_000_000) - Instant(nanoseconds: 2_000_000_000) == .seconds(3))
    }
}

@Suite struct ZeroTests {
    @Test func findsASingleByte() {
        var bytes = [UInt8](repeating: 0, count: 29)
        #expect(bytes.isZero(in: 0..<29))
        #expect(bytes.isZero(in: 5..<5))
        for place in bytes.indices {
            bytes[place] = 1
            #expect(!bytes.isZero(in: 0..<29))
            #expect(bytes.isZero(in: place + 1..<29))
            #expect(bytes.isZero(in: 0..<place))
            bytes[place] = 0
        }
    }
}
