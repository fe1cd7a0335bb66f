extension Span<UInt8> {
    /// The first place of `byte` at or after `start`; nil where there is none.
    @inlinable
    package func firstIndex(of byte: UInt8, from start: Int) -> Int? {
        let pattern = Words.ones &* UInt64(byte)
        let place = scan(from: start) { word in
            let difference = word ^ pattern
            return (difference &- Words.ones) & ~difference
        } isStop: {
            $0 == byte
        }
        return place < count ? place : nil
    }

    /// The first byte at or after `start` that is a quotation mark, a backslash, a control or not ASCII; where there is
    /// none, `count` or `start`, whichever is more.
    @inlinable
    package func firstStopOfString(from start: Int) -> Int {
        scan(from: start) { word in
            let quote = (word ^ (Words.ones &* 0x22)) &- Words.ones
            let backslash = (word ^ (Words.ones &* 0x5C)) &- Words.ones
            let control = word &- Words.ones &* 0x20
            return quote | backslash | control | word
        } isStop: {
            $0 < 0x20 || $0 >= 0x80 || $0 == 0x22 || $0 == 0x5C
        }
    }

    /// The first quotation mark or backslash at or after `start`; where there is none, `count` or `start`, whichever is
    /// more.
    @inlinable
    package func firstQuoteOrBackslash(from start: Int) -> Int {
        scan(from: start) { word in
            let quote = (word ^ (Words.ones &* 0x22)) &- Words.ones
            let backslash = (word ^ (Words.ones &* 0x5C)) &- Words.ones
            // A byte that is not ASCII is no stop, though a subtraction may mark it.
            return (quote | backslash) & ~word
        } isStop: {
            $0 == 0x22 || $0 == 0x5C
        }
    }

    /// The first stop at or after `start`, eight bytes a step.
    ///
    /// `marks` sets the high bit of the first byte of a word that is a stop, and of none before it. In what it
    /// subtracts a byte borrows from those above only where it is marked itself.
    @inlinable
    @inline(__always)
    func scan(from start: Int, marks: (UInt64) -> UInt64, isStop: (UInt8) -> Bool) -> Int {
        precondition(start >= 0)
        return withUnsafeBytes { bytes in
            var at = start
            while at <= bytes.count &- 8 {
                let word = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: at, as: UInt64.self))
                let found = marks(word) & Words.high
                if found != 0 { return at &+ found.trailingZeroBitCount / 8 }
                at &+= 8
            }
            while at < bytes.count, !isStop(bytes[at]) { at &+= 1 }
            return at
        }
    }
}

extension [UInt8] {
    /// True where `word` stands in it.
    ///
    /// `contains` of a String would do the same, but links 1 MB for regular expressions.
    package func holds(_ word: some Collection<UInt8>) -> Bool {
        indices.contains { self[$0...].starts(with: word) }
    }
}

/// Words that hold one byte eight times.
@usableFromInline
enum Words {
    @inlinable
    static var ones: UInt64 { 0x0101_0101_0101_0101 }
    @inlinable
    static var high: UInt64 { 0x8080_8080_8080_8080 }
}
