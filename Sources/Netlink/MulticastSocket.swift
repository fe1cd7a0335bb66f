package import Posix

/// What the kernel announced since the last look.
package struct LinkChanges: Hashable, Sendable {
    /// Messages by group.
    package var messages: [MulticastGroup: Int] = [:]
    /// How often announcements were lost, because the buffer was full or too small.
    package var overruns = 0
    /// Why the socket can be used no longer; open it anew after `MulticastSocket.reopenDelay`.
    package var failure: Errno?

    /// True where routes, links or addresses may differ from what was asked last.
    package var isDirty: Bool { !messages.isEmpty || overruns > 0 || failure != nil }
}

/// Listens to what the kernel announces of links, addresses, routes, rules and nexthops.
///
/// Announcements only tell that something changed: some changes are never announced, and the buffer may overrun. What
/// is true now, the kernel must be asked. Ask it first after `open`, not before.
package final class MulticastSocket {
    /// At most so many datagrams are taken at a time.
    static let datagramsAtATime = 256

    private let connect: () throws(Errno) -> any NetlinkChannel
    private var channel: (any NetlinkChannel)?
    private var buffer = [UInt8](repeating: 0, count: 65_536)
    private var failures = 0

    /// A socket, not open yet; `connect` gives a channel that has joined its groups.
    package init(
        connect: @escaping () throws(Errno) -> any NetlinkChannel = { () throws(Errno) in
            try KernelChannel(joining: MulticastGroup.allCases)
        }
    ) {
        self.connect = connect
    }

    /// What an event loop watches; nil while it is not open, and another after each `open`.
    package var descriptor: Int32? { channel?.descriptor }

    /// How long to wait before the next `open`: 1 s, doubled up to 30 s with each failure since the last message.
    package var reopenDelay: Duration { .seconds(min(30, 1 << min(max(0, failures - 1), 5))) }

    /// Opens it, or opens it anew; after that everything must be asked again.
    package func open() throws(Errno) {
        channel = nil
        do throws(Errno) {
            channel = try connect()
        } catch {
            failures += 1
            throw error
        }
    }

    /// Takes what waits, up to 256 datagrams; where more wait the descriptor stays readable.
    ///
    /// Where `failure` is set, stop watching the descriptor; the next `open` closes it.
    package func drain() -> LinkChanges {
        var changes = LinkChanges()
        guard let channel else { return changes }
        for _ in 0..<Self.datagramsAtATime {
            do throws(Errno) {
                guard let received = try channel.receive(into: &buffer) else { break }
                take(received, into: &changes)
            } catch {
                if error == .noBuffers {
                    changes.overruns += 1
                } else {
                    failures += 1
                    changes.failure = error
                    break
                }
            }
        }
        return changes
    }

    /// Only the kernel is believed: a privileged process can send such messages, too.
    private func take(_ received: NetlinkReceived, into changes: inout LinkChanges) {
        guard received.sender == 0 else { return }
        if received.isTruncated { changes.overruns += 1 }
        var reader = MessageReader(buffer, count: received.count)
        while let message = reader.next() {
            guard let group = Decoder.group(of: message, in: buffer) else { continue }
            failures = 0
            changes.messages[group, default: 0] += 1
        }
    }
}
