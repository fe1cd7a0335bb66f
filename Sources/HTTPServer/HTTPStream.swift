internal import Reactor

/// An answer without an end: what is written goes out as it comes, until one side closes.
package final class HTTPStream {
    private weak var connection: HTTPConnection?

    init(_ connection: HTTPConnection) { self.connection = connection }

    /// False once the client is gone, or was too slow.
    package var isOpen: Bool { connection?.isStreaming ?? false }

    /// Closes it where the client takes no more; else that shows only once something is written.
    package func closeIfUnread() { connection?.stream.closeIfUnread() }

    /// Sends bytes; a client behind which too much waits is closed instead.
    package func write(_ bytes: [UInt8]) { connection?.stream(bytes) }
}
