internal import Bytes
internal import JSON

/// A part of the input that makes one request.
struct EventPiece: Equatable {
    let contentType: String
    let body: [UInt8]
    /// The number of its first line in the whole input, from 1; nil for a document.
    let firstLine: Int?

    /// A document without events.
    static let nothing = EventPiece(contentType: "application/json", body: Array("[]".utf8), firstLine: nil)
}

/// Why the input cannot be sent.
enum EventInputError: Error, Equatable {
    /// More than `EventInput.limit` bytes in one document or one line.
    case tooLarge
}

/// Cuts a stream of bytes into requests: a first line that is a whole object makes it lines, sent as they come;
/// anything else is one JSON document, sent at the end.
struct EventInput {
    /// The most bytes of a document or a line; what the daemon can be told to take at most.
    static let limit = 4 << 20
    /// Lines are sent in pieces of about so many bytes.
    static let pieceBytes = 256 << 10

    private enum Mode { case undecided, lines, document }

    private var buffer: [UInt8] = []
    private var mode = Mode.undecided
    private var hasEnded = false
    private var nextLine = 1

    /// Takes more bytes.
    mutating func add(_ bytes: [UInt8]) { buffer += bytes }

    /// The input is whole.
    mutating func end() { hasEnded = true }

    /// The next piece that can be sent; nil until there is more, or at the end.
    mutating func next() throws(EventInputError) -> EventPiece? {
        if mode == .undecided { decide() }
        if mode == .lines, let piece = nextLines() { return piece }
        if mode == .document, hasEnded, buffer.count <= Self.limit { return document() }
        guard buffer.count <= Self.limit else { throw .tooLarge }
        return nil
    }

    private mutating func decide() {
        let start = JSONScanner.skipWhitespace(in: buffer.span, from: 0)
        guard start < buffer.count else { return }
        let lineFeed = buffer.span.firstIndex(of: 0x0A, from: start)
        guard lineFeed != nil || hasEnded || buffer.count > Self.limit else { return }
        let first = Array(buffer[start..<(lineFeed ?? buffer.count)])
        let isObject = (try? JSONScanner.document(first.span))?.kind == .object
        mode = isObject ? .lines : .document
    }

    private mutating func nextLines() -> EventPiece? {
        let newline = UInt8(ascii: "\n")
        let window = buffer.prefix(Self.pieceBytes)
        let end: Int
        if buffer.count <= Self.pieceBytes, hasEnded {
            end = buffer.count
        } else if let last = window.lastIndex(of: newline) {
            end = last + 1
        } else if let first = buffer.span.firstIndex(of: newline, from: window.endIndex) {
            end = first + 1
        } else {
            end = hasEnded ? buffer.count : 0
        }
        guard end > 0 else { return nil }
        let piece = EventPiece(
            contentType: "application/x-ndjson", body: Array(buffer[..<end]), firstLine: nextLine)
        buffer.dropPrefix(end)
        nextLine += piece.body.count { $0 == newline }
        return JSONScanner.skipWhitespace(in: piece.body.span, from: 0) < piece.body.count ? piece : nextLines()
    }

    private mutating func document() -> EventPiece? {
        guard !buffer.isEmpty else { return nil }
        defer { buffer = [] }
        return EventPiece(contentType: "application/json", body: buffer, firstLine: nil)
    }
}
