internal import Bytes

/// `ndjson`: an event a line, the last line ended, too.
struct NewlineJSON: BodyFormat {
    static var contentType: String { "application/x-ndjson" }
    static var maximumEvents: Int { .max }
    var marginBytes: Int { 1 }

    init(_ settings: DestinationSettings) {}

    func append(
        _ event: Span<UInt8>, _ facts: Enrichment.Facts, _ enrichment: inout Enrichment, isFirst: Bool,
        to body: inout [UInt8]
    ) {
        let start = body.count
        enrichment.append(event, facts, to: &body)
        body.replaceLineBreaks(from: start)
        body.append(UInt8(ascii: "\n"))
    }

    func close(_ body: inout [UInt8]) {}
}

extension [UInt8] {
    /// Replaces line feeds and carriage returns from `start` on by spaces; in JSON they stand only between tokens.
    fileprivate mutating func replaceLineBreaks(from start: Int) {
        let ones: UInt64 = 0x0101_0101_0101_0101
        var at = start
        while at < count {
            if at + 8 <= count {
                let word = span.loadLittleEndian(at: at, as: UInt64.self)
                // No byte below 0x0E, so neither of the two.
                if (word &- ones &* 0x0E) & ~word & ones &* 0x80 == 0 {
                    at += 8
                    continue
                }
            }
            for place in at..<Swift.min(at + 8, count)
            where self[place] == UInt8(ascii: "\n") || self[place] == UInt8(ascii: "\r") {
                self[place] = UInt8(ascii: " ")
            }
            at += 8
        }
    }
}
