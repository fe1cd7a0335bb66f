import Bytes
import JSON
import JSONReference
import Testing

struct DocumentTableTests {
    @Test(arguments: DocumentTable.all) func isTakenOrRefused(_ row: Row) {
        #expect(((try? JSONScanner.document(row.text.span)) != nil) == row.isTaken)
        #expect(ReferenceParser.accepts(row.text) == row.isTaken, "by the reference, too")
    }

    /// Whatever comes before or behind it in a word of eight bytes, which is how strings are scanned.
    @Test(arguments: DocumentTable.all) func isTheSameAtEveryPlace(_ row: Row) {
        guard row.text.count < 100 else { return }
        for count in 1..<9 {
            // A byte order mark is one at the start of a text only, and behind a space no white space either.
            let text = [UInt8](repeating: 0x20, count: count) + row.text
            #expect(((try? JSONScanner.document(text.span)) != nil) == row.isTaken)
            let inArray = Array("[\"\(String(repeating: "x", count: count))\",".utf8) + row.text + [0x5D]
            guard row.isTaken else { continue }
            #expect((try? JSONScanner.document(inArray.span)) != nil)
        }
    }

    @Test func noRowStandsThereTwice() {
        let texts = DocumentTable.all.map(\.text)
        #expect(Dictionary(grouping: texts) { $0 }.filter { $0.value.count > 1 }.keys.map(\.text) == [])
        #expect(texts.count > 330 && DocumentTable.all.count { $0.isTaken } > 110)
    }
}
