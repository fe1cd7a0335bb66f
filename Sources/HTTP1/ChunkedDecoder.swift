internal import Bytes

/// Takes a chunked body (RFC 9112, section 7.1) off growing input; extensions and trailers are checked and dropped.
package struct ChunkedDecoder: Sendable {
    private enum State: Hashable, Sendable {
        case size
        case data(left: Int)
        case dataEnd
        case trailer
        case complete
    }

    private var state = State.size
    private var bodyBytes = 0
    private var trailerBytes = 0
    private let limit: Int

    /// A decoder that throws `bodyTooLarge` once the sizes announced add up to more than `limit`.
    package init(limit: Int) { self.limit = limit }

    /// True once the last chunk and the trailers were taken.
    package var isComplete: Bool { state == .complete }

    /// Appends to `body` what can be decoded of the input from `start`, and returns how many bytes were taken.
    ///
    /// What was not taken is given again with more behind it.
    package mutating func decode(
        _ input: Span<UInt8>, from start: Int = 0, into body: inout [UInt8]
    ) throws(HTTPError) -> Int {
        var at = start
        while true {
            switch state {
            case .size:
                guard let line = try line(input, from: at, limit: HTTPLimits.chunkLineBytes) else { return at - start }
                at = line.upperBound + 2
                let size = try size(input, line)
                bodyBytes += size
                guard bodyBytes <= limit else { throw .bodyTooLarge }
                state = size == 0 ? .trailer : .data(left: size)
            case .data(let left):
                let taken = min(left, input.count - at)
                body.append(contentsOf: input.extracting(at..<at + taken))
                at += taken
                guard taken == left else {
                    state = .data(left: left - taken)
                    return at - start
                }
                state = .dataEnd
            case .dataEnd:
                guard input.count >= at + 2 else { return at - start }
                guard input[at] == 0x0D, input[at + 1] == 0x0A else { throw .malformed("a chunk has no end") }
                at += 2
                state = .size
            case .trailer:
                guard let line = try line(input, from: at, limit: HTTPLimits.headBytes) else { return at - start }
                at = line.upperBound + 2
                trailerBytes += line.count + 2
                guard trailerBytes <= HTTPLimits.headBytes else { throw .headTooLarge }
                if line.isEmpty { state = .complete }
            case .complete:
                return at - start
            }
        }
    }

    /// The line at `start` without its end; nil until it is whole.
    private func line(_ input: Span<UInt8>, from start: Int, limit: Int) throws(HTTPError) -> Range<Int>? {
        guard let lineFeed = input.firstIndex(of: 0x0A, from: start) else {
            guard input.count - start <= limit else { throw .malformed("a line of the chunked body is too long") }
            return nil
        }
        guard lineFeed > start, input[lineFeed - 1] == 0x0D else {
            throw .malformed("a line of the chunked body ends without a carriage return")
        }
        guard lineFeed - start <= limit else { throw .malformed("a line of the chunked body is too long") }
        for at in start..<lineFeed - 1 where input[at] < 0x20 && input[at] != 0x09 || input[at] == 0x7F {
            throw .malformed("a control character in a line of the chunked body")
        }
        return start..<lineFeed - 1
    }

    private func size(_ input: Span<UInt8>, _ line: Range<Int>) throws(HTTPError) -> Int {
        var digits: [UInt8] = []
        var at = line.lowerBound
        while at < line.upperBound, digits.count <= 8, input[at] != UInt8(ascii: ";"), input[at] != 0x20,
            input[at] != 0x09
        {
            digits.append(input[at])
            at += 1
        }
        while at < line.upperBound, input[at] == 0x20 || input[at] == 0x09 { at += 1 }
        guard digits.count <= 8, at == line.upperBound || input[at] == UInt8(ascii: ";"),
            let size = Hexadecimal.value(digits)
        else { throw .malformed("the size of a chunk is no hexadecimal number of at most 8 digits") }
        return Int(size)
    }
}
