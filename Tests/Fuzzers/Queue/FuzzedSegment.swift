import Posix

@testable import Queue

/// The file of a segment, with any content: scanned as at a start, and read as for a delivery.
enum FuzzedSegment {
    static let name = SegmentName(id: 1, first: 1)

    static func run(_ sealing: Sealing, _ input: [UInt8]) {
        let disk = OneFile()
        disk.bytes = input
        sealing.seal(segment: &disk.bytes, id: name.id, with: 0)
        let window = SegmentWindow()
        window.attach(disk, end: disk.bytes.count, isTolerant: false)
        do throws(Errno) {
            let scan = try SegmentScan(window, log: .normal, segment: name, seal: 0, size: disk.bytes.count)
            for damage in scan.damages {
                precondition(damage.offset >= 0 && damage.length >= 0)
            }
            try read(window, through: max(scan.last, name.first), size: disk.bytes.count)
        } catch {
            preconditionFailure("\(error)")
        }
    }

    /// Every event up to `last` is read or said to be lost, once, in order.
    private static func read(_ window: SegmentWindow, through last: UInt64, size: Int) throws(Errno) {
        var place = ReadPlace(window, name, seal: 0, sequence: name.first, end: size)
        var next = name.first
        while next <= last {
            var chunk = ChunkBuilder(limit: 4_096, expiry: .never)
            try place.fill(&chunk, through: last, limit: 4_096)
            var spans = chunk.records.map { $0.sequence...$0.sequence } + chunk.disposed.map(\.sequences)
            spans.sort { $0.lowerBound < $1.lowerBound }
            for span in spans {
                precondition(span.lowerBound == next, "\(span) follows \(next - 1)")
                next = span.upperBound + 1
            }
            if spans.isEmpty, place.sequence == next { preconditionFailure("a read brings nothing") }
            for record in chunk.records {
                precondition(record.range.upperBound <= chunk.bytes.count && record.context < chunk.contexts.count)
            }
        }
    }
}
