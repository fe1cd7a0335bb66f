internal import Bytes

/// Finds the lines of growing input, and passes over one that is too long without keeping it.
struct LineReader: Sendable {
    enum Found: Hashable {
        /// A line, without its line feed; the next begins after that.
        case line(Range<Int>, next: Int)
        /// A line over `lineBytes` has ended; the next begins there.
        case tooLong(next: Int)
        /// A line has passed `endlessBytes`.
        case endless
        /// No whole line; what stands before `kept` is of no more use.
        case incomplete(kept: Int)
    }

    /// The longest line that is given out.
    let lineBytes: Int
    /// The longest line that is waited for.
    let endlessBytes: Int
    /// Bytes at the front of the input that hold no line feed.
    private var searched = 0
    /// Bytes of this line that were passed over.
    private var dropped = 0

    init(lineBytes: Int, endlessBytes: Int) {
        precondition(lineBytes <= endlessBytes)
        self.lineBytes = lineBytes
        self.endlessBytes = endlessBytes
    }

    /// The next line at `start`; after `incomplete`, call it again with the bytes from `kept` on and more behind them.
    ///
    /// With `hasEnded` the bytes that are left are a line, unless there are none.
    mutating func next(in input: Span<UInt8>, from start: Int, hasEnded: Bool) -> Found {
        if let lineFeed = input.firstIndex(of: 0x0A, from: start + searched) {
            return found(start..<lineFeed, next: lineFeed + 1)
        }
        let length = dropped + input.count - start
        if length > endlessBytes { return .endless }
        if hasEnded {
            guard length > 0 else { return .incomplete(kept: input.count) }
            return found(start..<input.count, next: input.count)
        }
        guard length > lineBytes else {
            searched = input.count - start
            return .incomplete(kept: start)
        }
        dropped = length
        searched = 0
        return .incomplete(kept: input.count)
    }

    private mutating func found(_ line: Range<Int>, next: Int) -> Found {
        let length = dropped + line.count
        searched = 0
        dropped = 0
        if length > endlessBytes { return .endless }
        return length > lineBytes ? .tooLong(next: next) : .line(line, next: next)
    }
}
