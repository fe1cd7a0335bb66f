package import Posix

/// Datagrams to and from the kernel, as bytes.
package protocol NetlinkChannel: AnyObject {
    /// What an event loop watches.
    var descriptor: Int32 { get }

    /// Sends one datagram.
    func send(_ bytes: [UInt8]) throws(Errno)

    /// Receives one datagram over the front of `buffer`; nil where none waits, or the deadline passed.
    func receive(into buffer: inout [UInt8]) throws(Errno) -> NetlinkReceived?
}

/// The kernel's end.
package final class KernelChannel: NetlinkChannel {
    private let socket: FileDescriptor
    /// Groups that the kernel does not have.
    package let missingGroups: [MulticastGroup]

    package var descriptor: Int32 { socket.number }

    /// A socket for questions; a receive waits for 200 ms at most.
    package init() throws(Errno) {
        let socket = try FileDescriptor.openNetlink(receiveDeadline: 200)
        try? socket.setNetlinkStrict()
        self.socket = socket
        missingGroups = []
    }

    /// A non-blocking member of `groups`.
    package init(joining groups: [MulticastGroup]) throws(Errno) {
        let socket = try FileDescriptor.openNetlink(receiveDeadline: 0)
        try? socket.setNetlinkReceiveBuffer(8 << 20)
        var missing: [MulticastGroup] = []
        for group in groups {
            do throws(Errno) {
                try socket.joinNetlink(group: group.number)
            } catch {
                guard error == .invalid else { throw error }
                missing.append(group)
            }
        }
        self.socket = socket
        missingGroups = missing
    }

    package func send(_ bytes: [UInt8]) throws(Errno) { try socket.sendNetlink(bytes) }

    package func receive(into buffer: inout [UInt8]) throws(Errno) -> NetlinkReceived? {
        try socket.receiveNetlink(into: &buffer)
    }
}
