/// Which events of one log waited behind a gate of one destination, and behind which first.
///
/// A gate that closes or opens, and an attempt that fails, marks everything up to the newest event of the log. A gate
/// that stands in the event's accept context comes before any mark.
package struct Marks: Sendable {
    private struct Stretch: Sendable {
        var through: UInt64
        let gate: Gate
    }

    /// The most stretches kept; beyond it the oldest two become one with the reason of the first.
    private static let maximumStretches = 16

    /// Ascending; an event belongs to the first stretch that reaches it.
    private var stretches: [Stretch] = []

    /// The marks after a start: every event up to `newest` waited through it.
    package init(restartedWith newest: UInt64) {
        if newest > 0 { stretches = [Stretch(through: newest, gate: .restart)] }
    }

    /// Everything up to this sequence number is marked; 0 where nothing is.
    package var through: UInt64 { stretches.last?.through ?? 0 }

    /// Marks every event up to `newest` that is not marked yet.
    package mutating func mark(through newest: UInt64, _ gate: Gate) {
        guard newest > through else { return }
        if let last = stretches.indices.last, stretches[last].gate == gate {
            stretches[last].through = newest
            return
        }
        stretches.append(Stretch(through: newest, gate: gate))
        if stretches.count > Self.maximumStretches {
            let first = stretches.removeFirst()
            stretches[0] = Stretch(through: stretches[0].through, gate: first.gate)
        }
    }

    /// Forgets what concerns only events below `low`.
    package mutating func settle(below low: UInt64) {
        while let first = stretches.first, first.through < low { stretches.removeFirst() }
    }

    /// The first gate that held an event; nil where none did.
    ///
    /// `stored` is the gate in the event's accept context, if one was closed for this destination.
    package func gate(of sequence: UInt64, stored: Gate?) -> Gate? {
        stored ?? stretches.first { sequence <= $0.through }?.gate
    }
}
