import Posix

@testable import Queue

/// The header and the records of one batch, with any content.
enum FuzzedBatch {
    static func run(_ sealing: Sealing, _ input: [UInt8]) {
        let disk = OneFile()
        disk.bytes = input
        sealing.seal(segment: &disk.bytes, id: FuzzedSegment.name.id, with: 0)
        guard let header = BatchHeader(disk.bytes, at: 0, segment: FuzzedSegment.name.id, seal: 0) else { return }
        let window = SegmentWindow()
        window.attach(disk, end: disk.bytes.count, isTolerant: true)
        var records = RecordWalk(window, header, at: 0)
        var next = header.first
        do throws(Errno) {
            while let step = try records.next() {
                switch step {
                case .record(let sequence, let index, let length):
                    precondition(sequence == next, "\(sequence) follows \(next - 1)")
                    precondition(index + RecordLayout.headerSize + length <= window.bytes.count)
                    next += 1
                case .hole(let sequence):
                    precondition(sequence == next, "\(sequence) follows \(next - 1)")
                    next += 1
                case .damaged(let sequences, let bytes):
                    precondition(sequences.lowerBound == next, "\(sequences) follows \(next - 1)")
                    precondition(bytes.lowerBound >= 0 && bytes.upperBound <= header.totalSize)
                    next = sequences.upperBound + 1
                }
            }
            precondition(next == header.last + 1, "the batch ends at \(next - 1), not \(header.last)")
            _ = try window.context(of: header, at: 0)
        } catch {
            preconditionFailure("\(error)")
        }
    }
}
