package import Bytes

/// Carries requests to destinations; told what to send by `Destination`, answers through the daemon.
///
/// Each request that was sent and not cancelled ends in exactly one `TransportOutcome`, within its timeouts. Lives on
/// the loop's thread.
package protocol Transport: AnyObject {
    /// Starts a request to the first of `addresses` that takes the connection; empty for a Unix socket.
    func send(_ request: OutgoingRequest, addresses: [IPAddress])
    /// Ends a request without an outcome and closes its connection; nothing where it has ended.
    func cancel(_ id: UInt64)
    /// Closes the idle connections to a destination.
    func dropConnections(destination: String)
}

/// A field of an HTTP head, name and value without the colon, the space and the line end.
package struct HeaderField: Sendable, Hashable {
    package let name: String
    package let value: String

    package init(name: String, value: String) {
        self.name = name
        self.value = value
    }
}

extension [HeaderField] {
    /// The value of the first field of that name, whatever its case; nil where there is none.
    package func first(named name: String) -> String? {
        first { $0.name.utf8.elementsEqual(ignoringCase: name.utf8) }?.value
    }
}

extension Sequence<UInt8> {
    /// True where both are the same but for the case of ASCII letters.
    func elementsEqual(ignoringCase other: some Sequence<UInt8>) -> Bool {
        elementsEqual(other) { $0.lowercased == $1.lowercased }
    }
}
