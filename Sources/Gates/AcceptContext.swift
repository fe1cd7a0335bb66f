internal import Bytes
package import Reachability

/// The circumstances in which events were accepted; a batch of the log carries one for all its events.
///
/// Encoded: connection type (1 byte), count of closed gates (1), then for each the gate (1), the length of the
/// destination's name (1) and the name. Destinations whose gate was open, or not yet known, are not listed.
package struct AcceptContext: Hashable, Sendable {
    /// A destination that could not be sent to.
    package struct ClosedGate: Hashable, Sendable {
        package let destination: String
        package let gate: Gate

        package init(destination: String, gate: Gate) {
            self.destination = destination
            self.gate = gate
        }
    }

    /// The link by which the first destination's route leaves.
    package let connectionType: ConnectionType
    /// At most 16, in the order of the configuration.
    package let closed: [ClosedGate]

    package init(connectionType: ConnectionType, closed: [ClosedGate]) {
        precondition(closed.count <= 16)
        self.connectionType = connectionType
        self.closed = closed
    }

    /// What stands where nothing is known.
    package static let unknown = AcceptContext(connectionType: .unknown, closed: [])

    /// The gate that was closed for a destination; nil where it was open or not known.
    package func gate(of destination: String) -> Gate? { closed.first { $0.destination == destination }?.gate }

    /// Its bytes, at most 546.
    package var encoded: [UInt8] {
        var bytes: [UInt8] = [connectionType.rawValue, UInt8(closed.count)]
        for each in closed {
            let name = Array(each.destination.utf8)
            precondition(name.count <= 32)
            bytes.append(each.gate.rawValue)
            bytes.append(UInt8(name.count))
            bytes += name
        }
        return bytes
    }

    /// Reads what `encoded` wrote; nil where the bytes are anything else.
    package init?(decoding bytes: [UInt8]) {
        guard bytes.count >= 2, let type = ConnectionType(rawValue: bytes[0]), bytes[1] <= 16 else { return nil }
        var closed: [ClosedGate] = []
        var at = 2
        for _ in 0..<bytes[1] {
            guard at + 2 <= bytes.count, let gate = Gate(rawValue: bytes[at]) else { return nil }
            let end = at + 2 + Int(bytes[at + 1])
            guard bytes[at + 1] <= 32, end <= bytes.count else { return nil }
            closed.append(ClosedGate(destination: Array(bytes[at + 2..<end]).text, gate: gate))
            at = end
        }
        guard at == bytes.count else { return nil }
        self.init(connectionType: type, closed: closed)
    }
}

extension AcceptContext {
    /// The context of an event accepted now; `destinations` in the order of the configuration.
    package init(connectionType: ConnectionType, destinations: [(name: String, gate: Gate?)]) {
        self.init(
            connectionType: connectionType,
            closed: destinations.compactMap { each in
                each.gate.map { ClosedGate(destination: each.name, gate: $0) }
            })
    }
}
