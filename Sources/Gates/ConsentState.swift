/// What may be done with the events of a consent category; the raw values stand on disk.
///
/// A greater one forbids more.
package enum ConsentState: UInt8, Sendable, CaseIterable, Comparable {
    /// They are stored and sent.
    case allow = 1
    /// They are stored, and sent once that is allowed.
    case hold = 2
    /// They are neither stored nor sent, and those that wait are purged.
    case deny = 3

    /// As users see it: `allow`, `hold`, `deny`.
    package var name: String { "\(self)" }

    package static func < (left: ConsentState, right: ConsentState) -> Bool { left.rawValue < right.rawValue }
}

/// What a start finds of the states that operators have set.
package enum KeptConsent: Sendable, Equatable {
    /// All of them, by category.
    case whole([String: ConsentState])
    /// They cannot be read whole; these categories are named in what can.
    case lost(named: Set<String>)
}

/// What the configuration says of consent.
package struct ConsentSettings: Sendable, Equatable {
    /// For categories without a state of their own.
    package let fallback: ConsentState
    /// By category, until an operator sets another.
    package let states: [String: ConsentState]
    /// The categories that have a section: those of `states`, and those whose section gives no state.
    package let named: Set<String>

    package init(fallback: ConsentState = .allow, states: [String: ConsentState] = [:], named: Set<String> = []) {
        self.fallback = fallback
        self.states = states
        self.named = named.union(states.keys)
    }
}
