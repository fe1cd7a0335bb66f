import Bytes
import Testing

@testable import ControlClient

struct EventInputTests {
    /// The pieces that `text` makes when it comes in parts of `size` bytes; blanks, where nothing came, left out.
    private func pieces(_ text: String, parts size: Int) throws -> [EventPiece] {
        var input = EventInput()
        var found: [EventPiece] = []
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            input.add(Array(rest.prefix(size)))
            rest = rest.dropFirst(size)
            while let piece = try input.next() { found.append(piece) }
        }
        input.end()
        while let piece = try input.next() { found.append(piece) }
        return found
    }

    @Test(arguments: [1, 3, 10, 1_000])
    func linesAreSentAsTheyComeWithTheirNumbers(_ size: Int) throws {
        let text = "\n{\"a\":1}\n\n{\"b\":2}\n  \n{\"c\":3}"
        let found = try pieces(text, parts: size)
        #expect(found.allSatisfy { $0.contentType == "application/x-ndjson" })
        var line = 1
        for piece in found {
            let ahead = Array(text.utf8)
            #expect(piece.firstLine.map { $0 >= line } == true)
            line = piece.firstLine ?? 0
            let start = ahead.split(separator: 0x0A, omittingEmptySubsequences: false).prefix(line - 1)
                .reduce(0) { $0 + $1.count + 1 }
            #expect(Array(ahead[start...].prefix(piece.body.count)) == piece.body)
        }
        let joined = found.flatMap { $0.body.split(separator: 0x0A) }.map { Array($0).text }
        #expect(joined.filter { $0.hasPrefix("{") } == ["{\"a\":1}", "{\"b\":2}", "{\"c\":3}"])
        if size == 1 { #expect(found.count == 3) }
        if size == 1_000 { #expect(found.count <= 2) }
    }

    @Test(arguments: ["[{\"a\":1},\n{\"b\":2}]\n", "{\n  \"a\": 1\n}\n", "nonsense\n{\"a\":1}\n", "\n\n[]"])
    func anythingElseIsOneDocument(_ text: String) throws {
        for size in [1, 4, 100] {
            #expect(
                try pieces(text, parts: size)
                    == [EventPiece(contentType: "application/json", body: Array(text.utf8), firstLine: nil)])
        }
    }

    @Test(arguments: ["", "\n", " \n\t\r\n"])
    func blankInputSendsNothing(_ text: String) throws { #expect(try pieces(text, parts: 1).isEmpty) }

    @Test func manyLinesAreCutIntoPiecesAtLineEnds() throws {
        let line = "{\"a\":\"\(String(repeating: "x", count: 90))\"}\n"
        let text = String(repeating: line, count: 10_000)
        let found = try pieces(text, parts: 400_000)
        #expect(found.count >= 4)
        #expect(found.allSatisfy { $0.body.count <= EventInput.pieceBytes && $0.body.last == 0x0A })
        #expect(found.map(\.firstLine).last == 1 + found.dropLast().reduce(0) { $0 + $1.body.count / line.utf8.count })
        #expect(found.reduce(0) { $0 + $1.body.count } == text.utf8.count)
    }

    @Test(arguments: ["[", "{\"a\":1}\n{"])
    func whatIsTooLargeIsRefusedBeforeItFillsMemory(_ start: String) {
        var input = EventInput()
        input.add(Array(start.utf8))
        let more = [UInt8](repeating: 0x20, count: 1 << 20)
        #expect(throws: EventInputError.tooLarge) {
            for _ in 0..<6 {
                input.add(more)
                while try input.next() != nil {}
            }
        }
    }
}
