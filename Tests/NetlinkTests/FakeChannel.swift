import Bytes
import Posix

@testable import Netlink

/// Replays datagrams, and keeps what was sent.
final class FakeChannel: NetlinkChannel {
    enum Step {
        /// A datagram from a port; 0 is the kernel. Its sequence numbers become that of the last request.
        case datagram([UInt8], sender: UInt32 = 0, stale: Bool = false)
        case truncated([UInt8])
        case fails(Errno)
        case nothing
    }

    var steps: [Step]
    var sent: [[UInt8]] = []
    let descriptor: Int32 = 99

    init(_ steps: [Step]) { self.steps = steps }

    func send(_ bytes: [UInt8]) throws(Errno) { sent.append(bytes) }

    func receive(into buffer: inout [UInt8]) throws(Errno) -> NetlinkReceived? {
        guard !steps.isEmpty else { return nil }
        switch steps.removeFirst() {
        case .nothing: return nil
        case .fails(let error): throw error
        case .truncated(let bytes):
            buffer.replaceSubrange(0..<bytes.count, with: bytes)
            return NetlinkReceived(count: bytes.count, sender: 0, isTruncated: true)
        case .datagram(var bytes, let sender, let stale):
            if !stale, let request = sent.last { renumber(&bytes, request.loadNative(at: 8, as: UInt32.self)) }
            buffer.replaceSubrange(0..<bytes.count, with: bytes)
            return NetlinkReceived(count: bytes.count, sender: sender, isTruncated: false)
        }
    }

    private func renumber(_ bytes: inout [UInt8], _ sequence: UInt32) {
        var reader = MessageReader(bytes, count: bytes.count)
        var copy = bytes
        while let message = reader.next() {
            copy.storeLittleEndian(sequence.littleEndian, at: message.body.lowerBound - 8)
        }
        bytes = copy
    }
}
