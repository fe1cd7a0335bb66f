internal import CLinux

/// A datagram that netlink gave.
package struct NetlinkReceived: Sendable, Equatable {
    /// Bytes written to the front of the buffer.
    package let count: Int
    /// The sender's port; 0 is the kernel.
    package let sender: UInt32
    /// True where the datagram was longer than the buffer.
    package let isTruncated: Bool

    package init(count: Int, sender: UInt32, isTruncated: Bool) {
        self.count = count
        self.sender = sender
        self.isTruncated = isTruncated
    }
}

extension FileDescriptor {
    /// A routing socket (rtnetlink(7)) with a port of the kernel's choice.
    ///
    /// `receiveDeadline` in milliseconds, after which a receive gives up; 0 makes the socket non-blocking.
    package static func openNetlink(receiveDeadline: Int32) throws(Errno) -> FileDescriptor {
        FileDescriptor(taking: try checked(cl_netlink_open(receiveDeadline)))
    }

    /// Joins a multicast group (NETLINK_ADD_MEMBERSHIP).
    package borrowing func joinNetlink(group: UInt32) throws(Errno) {
        try checked(cl_netlink_join(number, group))
    }

    /// Asks for a receive buffer of so many bytes; the kernel may grant less.
    package borrowing func setNetlinkReceiveBuffer(_ bytes: Int32) throws(Errno) {
        try checked(cl_netlink_receive_buffer(number, bytes))
    }

    /// Asks for strictly checked requests and extended acknowledgements.
    package borrowing func setNetlinkStrict() throws(Errno) { try checked(cl_netlink_strict(number)) }

    /// Sends a datagram to the kernel.
    package borrowing func sendNetlink(_ bytes: [UInt8]) throws(Errno) {
        try checked(bytes.withUnsafeBytes { raw in cl_netlink_send(number, raw.baseAddress, raw.count) })
    }

    /// Receives a datagram over the front of `buffer`; nil where none waits, or the deadline passed.
    package borrowing func receiveNetlink(into buffer: inout [UInt8]) throws(Errno) -> NetlinkReceived? {
        precondition(!buffer.isEmpty)
        var sender: UInt32 = 0
        var truncated: Int32 = 0
        let result = buffer.withUnsafeMutableBytes { raw in
            cl_netlink_receive(number, raw.baseAddress, raw.count, &sender, &truncated)
        }
        if result == -Int64(EAGAIN) { return nil }
        return NetlinkReceived(
            count: Int(try checked(result)), sender: sender, isTruncated: truncated != 0)
    }
}
