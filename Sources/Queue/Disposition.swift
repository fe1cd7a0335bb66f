/// What became of a run of events of one log for one destination.
package struct Disposition: Sendable, Equatable {
    /// The ways in which an event ends.
    package enum Kind: Sendable, CaseIterable {
        case delivered, dead, expired, evicted, purged, quarantined
    }

    package let kind: Kind
    package let sequences: ClosedRange<UInt64>

    package init(_ kind: Kind, _ sequences: ClosedRange<UInt64>) {
        self.kind = kind
        self.sequences = sequences
    }

    /// How many events it tells of.
    package var count: UInt64 { sequences.upperBound - sequences.lowerBound + 1 }
}

extension [Disposition] {
    /// Adds a run, which becomes one with the last where that is of the same kind and ends just before it.
    package mutating func extend(_ kind: Disposition.Kind, _ sequences: ClosedRange<UInt64>) {
        if let end = last, end.kind == kind, end.sequences.upperBound + 1 == sequences.lowerBound {
            self[count - 1] = Disposition(kind, end.sequences.lowerBound...sequences.upperBound)
        } else {
            append(Disposition(kind, sequences))
        }
    }

    /// How many events of each kind.
    package var ledger: Ledger { reduce(into: Ledger()) { $0.count($1.count, as: $1.kind) } }
}

/// A cursor that moved by itself, not by what was settled.
package struct CursorMove: Sendable, Equatable {
    package let destination: String
    package let log: LogName
    /// The first event that is not settled now.
    package let low: UInt64
    /// What became of those that it passed.
    package let kind: Disposition.Kind
    /// How many they were.
    package let count: UInt64

    package init(destination: String, log: LogName, low: UInt64, kind: Disposition.Kind, count: UInt64) {
        self.destination = destination
        self.log = log
        self.low = low
        self.kind = kind
        self.count = count
    }
}
