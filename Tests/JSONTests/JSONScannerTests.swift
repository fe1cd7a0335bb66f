import Bytes
import JSON
import JSONReference
import Testing

private func check(_ text: [UInt8]) -> Result<JSONExtent, JSONError> {
    do throws(JSONError) {
        return .success(try JSONScanner.document(text.span))
    } catch {
        return .failure(error)
    }
}

private func nested(_ depth: Int, _ open: String = "[", _ close: String = "]") -> [UInt8] {
    Array((String(repeating: open, count: depth) + String(repeating: close, count: depth)).utf8)
}

struct JSONScannerTests {
    @Test(arguments: [
        ("{}", JSONKind.object), (" { } ", .object), ("[]", .array), ("\"\"", .string), ("0", .number), ("-0", .number),
        ("true", .boolean), ("false", .boolean), ("null", .null), ("\t\r\n[1 , 2]\n", .array),
        ("{\"a\":1,\"a\":2}", .object), ("{\"\\ud800\":\"\\udc00\"}", .object), ("\"\u{7F}\u{80}\u{10FFFF}\"", .string),
        ("[-1.5e-7,1E+2,0.0,1e999999]", .array), ("{\"a\":{\"b\":[{},[],\"\\u00Ff\\b\\f\\n\\r\\t\\/\"]}}", .object),
    ])
    func takes(_ text: String, kind: JSONKind) throws {
        #expect(try check(Array(text.utf8)).get().kind == kind)
    }

    @Test(arguments: [
        ("", JSONError.Kind.unexpectedEnd, 0), ("  ", .unexpectedEnd, 2), ("{", .unexpectedEnd, 1),
        ("{\"a\"", .unexpectedEnd, 4), ("{\"a\":", .unexpectedEnd, 5), ("{\"a\":1", .unexpectedEnd, 6),
        ("[1,", .unexpectedEnd, 3), ("\"abc", .unexpectedEnd, 4), ("\"abcdefgh\\", .unexpectedEnd, 10),
        ("\"\\u12", .unexpectedEnd, 5), ("-", .unexpectedEnd, 1), ("1e", .unexpectedEnd, 2), ("tru", .unexpectedEnd, 3),
        ("{,}", .unexpectedByte, 1), ("{a:1}", .unexpectedByte, 1), ("{\"a\" 1}", .unexpectedByte, 5),
        ("{\"a\":1,}", .unexpectedByte, 7), ("[1,]", .unexpectedByte, 3), ("[1}", .unexpectedByte, 2),
        ("{\"a\":1]", .unexpectedByte, 6), ("[1 2]", .unexpectedByte, 3), ("nul1", .unexpectedByte, 3),
        ("True", .unexpectedByte, 0), ("NaN", .unexpectedByte, 0), ("'a'", .unexpectedByte, 0),
        ("]", .unexpectedByte, 0),
        ("+1", .unexpectedByte, 0), (".5", .unexpectedByte, 0), ("\u{C}1", .unexpectedByte, 0),
        ("01", .invalidNumber, 0), ("-01", .invalidNumber, 0), ("1.", .unexpectedEnd, 2), ("[1.]", .invalidNumber, 1),
        ("[1.e1]", .invalidNumber, 1), ("[1e+]", .invalidNumber, 1), ("[-]", .invalidNumber, 1),
        ("\"\\x\"", .invalidEscape, 1), ("\"\\u12G4\"", .invalidEscape, 1), ("\"\\U0041\"", .invalidEscape, 1),
        ("\"a\nb\"", .controlCharacter, 2), ("\"0123456789\u{1F}\"", .controlCharacter, 11),
        ("\"\u{0}\"", .controlCharacter, 1), ("{} {}", .trailingBytes, 3), ("1x", .trailingBytes, 1),
        ("{}\u{0}", .trailingBytes, 2), ("\u{FEFF}{}", .byteOrderMark, 0),
    ])
    func refuses(_ text: String, kind: JSONError.Kind, offset: Int) {
        #expect(check(Array(text.utf8)) == .failure(JSONError(kind, at: offset)))
    }

    @Test(
        arguments: [
            [0x80], [0xC0, 0x80], [0xC1, 0xBF], [0xC3], [0xC3, 0x28], [0xE0, 0x9F, 0xBF], [0xE2, 0x82],
            [0xED, 0xA0, 0x80],
            [0xF0, 0x8F, 0xBF, 0xBF], [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xFE], [0xFF],
            [0xF0, 0x9F, 0x98], [0xC3, 0xBC, 0xBC],
        ] as [[UInt8]])
    func refusesWhatIsNoUTF8(_ bytes: [UInt8]) {
        for filler in 0..<9 {
            let text = [0x22] + [UInt8](repeating: 0x61, count: filler) + bytes + [0x22]
            let expected = 1 + filler + (bytes == [0xC3, 0xBC, 0xBC] ? 2 : 0)
            #expect(check(text) == .failure(JSONError(.invalidUTF8, at: expected)))
        }
    }

    @Test func nestsSixtyFourDeepAndNoDeeper() {
        #expect(throws: Never.self) { try check(nested(64)).get() }
        #expect(throws: Never.self) { try check(nested(32, "{\"a\":[", "]}")).get() }
        #expect(check(nested(65)) == .failure(JSONError(.tooDeep, at: 64)))
        #expect(check(nested(10_000)) == .failure(JSONError(.tooDeep, at: 64)))
        #expect(check(nested(33, "[{\"a\":", "}]")) == .failure(JSONError(.tooDeep, at: 32 * 6)))
    }

    @Test func findsEveryStopByteAtEveryPlaceOfAWord() {
        for filler in 0..<20 {
            let plain = [UInt8](repeating: 0x7E, count: filler)
            #expect(throws: Never.self) { try check([0x22] + plain + [0x22]).get() }
            for byte: UInt8 in 0..<0x20 {
                #expect(check([0x22] + plain + [byte, 0x22]) == .failure(JSONError(.controlCharacter, at: filler + 1)))
            }
        }
    }

    @Test func takesValuesOneByOneFromABuffer() throws {
        let text = Array("{\"a\":1} [2]\n\"x\"3".utf8)
        var found: [Range<Int>] = []
        var at = 0
        while at < text.count {
            let extent = try JSONScanner.value(in: text.span, from: at)
            found.append(extent.range)
            at = extent.range.upperBound
        }
        #expect(found == [0..<7, 8..<11, 12..<15, 15..<16])
    }

    @Test(arguments: [UInt64(1), 20_261_130])
    func agreesWithTheReferenceOnRandomTexts(seed: UInt64) {
        var texts = RandomJSON(seed: seed)
        var accepted = 0
        for round in 0..<1_500 {
            let text = texts.text()
            #expect((try? check(text).get()) != nil, "seed \(seed) round \(round): \(text.text)")
            let damaged = texts.damaged(text)
            let expected = ReferenceParser.accepts(damaged)
            accepted += expected ? 1 : 0
            #expect(((try? check(damaged).get()) != nil) == expected, "seed \(seed) round \(round): \(damaged)")
        }
        #expect((100..<1_400).contains(accepted), "the damage must leave both kinds")
    }
}
