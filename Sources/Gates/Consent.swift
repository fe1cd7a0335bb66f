/// Which categories of events may be taken and sent.
///
/// A category's state is what an operator set last, else the configuration's for it, else the default's. What forbids
/// more is in force from the moment it is asked for, what forbids less once it is durable.
package struct Consent: Sendable {
    /// There are no more: each has a log of its own.
    package static let maximumCategories = 64

    /// Stands among the kept states for every category that has none.
    package static let others = ""

    /// What operators have set, durably.
    private var kept: [String: ConsentState]
    private var settings: ConsentSettings
    /// Categories that have a log, or are about to.
    private var used: Set<String>
    /// What orders that are not carried out yet, or could not be made durable, forbid.
    private var asked: [String: ConsentState] = [:]
    /// Orders in hand, by category.
    private var orders: [String: Int] = [:]
    /// Purges in hand, by category.
    private var purges: [String: Int] = [:]
    /// True where the kept states could not be read.
    package let isLost: Bool
    /// Categories of which there is a trace, on hold because their kept state could not be read; each until it is set
    /// anew, as are all others.
    package private(set) var lost: Set<String> = []

    /// The states after a start that found `kept` and logs of the `used` categories.
    package init(kept: KeptConsent = .whole([:]), settings: ConsentSettings = .init(), used: Set<String> = []) {
        self.settings = settings
        self.used = used
        switch kept {
        case .whole(let states):
            self.kept = states
            isLost = false
        case .lost(let named):
            // An operator may have set any other, too.
            self.kept = [Self.others: .hold]
            isLost = true
            for category in named.union(used).sorted() { lose(category) }
        }
    }

    private mutating func lose(_ category: String) {
        guard lost.count < Self.maximumCategories else { return }
        kept[category] = settled(category)
        lost.insert(category)
    }

    /// The lost categories in words; nil where none is lost, or all are set anew.
    package var lostText: String? {
        lost.isEmpty ? nil : lost.sorted().joined(separator: ", ") + " and all others"
    }

    /// What is to be kept of the states that are lost.
    package var lostStates: [String: ConsentState] {
        kept.filter { lost.contains($0.key) || $0.key == Self.others }
    }

    /// The state of a category, whether it was ever used or not.
    package func state(of category: String) -> ConsentState {
        max(settled(category), asked[category] ?? .allow)
    }

    /// The state without what is asked for.
    private func settled(_ category: String) -> ConsentState {
        if let state = kept[category] { return state }
        return max(settings.states[category] ?? settings.fallback, kept[Self.others] ?? .allow)
    }

    /// The categories that are used, named in the configuration, or set by an operator; in order.
    package var categories: [String] { taken.union(settings.named).sorted() }

    /// Those that have a log or a state of their own.
    private var taken: Set<String> { used.union(kept.keys).union(asked.keys).subtracting([Self.others]) }

    /// The categories of which nothing may be sent now; in order.
    package var withheld: [String] { categories.filter { state(of: $0) != .allow || purges[$0] != nil } }

    /// False where there are as many categories as there may be, and this is none of them.
    ///
    /// Those that the configuration names have their places, which no other takes.
    package func hasRoom(for category: String) -> Bool {
        let isTaken = used.contains(category) || kept[category] != nil || asked[category] != nil
        guard !isTaken else { return true }
        let others = settings.named.contains(category) ? taken : taken.union(settings.named)
        return others.count < Self.maximumCategories
    }

    /// The categories that the configuration names and that have no log and no state yet, in order, where not all of
    /// them can have one any more.
    package var crowded: [String] {
        let waiting = settings.named.subtracting(taken)
        return taken.count + waiting.count > Self.maximumCategories ? waiting.sorted() : []
    }

    /// True while events of a category are being purged.
    package func isPurging(_ category: String) -> Bool { purges[category] != nil }

    /// True where a category is known to have a log.
    package func isUsed(_ category: String) -> Bool { used.contains(category) }
}

extension Consent {
    /// A category gets its log.
    package mutating func use(_ category: String) { used.insert(category) }

    /// A category has a log that the start could not read.
    package mutating func found(_ category: String) {
        used.insert(category)
        if isLost, kept[category] == nil { lose(category) }
    }

    /// Takes what a new configuration says.
    package mutating func use(_ settings: ConsentSettings) { self.settings = settings }

    /// An operator wants a state; to be followed by `answer`.
    package mutating func ask(_ state: ConsentState, of category: String) {
        orders[category, default: 0] += 1
        asked[category] = max(asked[category] ?? .allow, state)
    }

    /// What came of `ask`: the state is durable, or it could not be made so.
    ///
    /// One that could not, and forbids more, stays in force.
    package mutating func answer(_ state: ConsentState, of category: String, isDurable: Bool) {
        orders[category, default: 1] -= 1
        if isDurable {
            kept[category] = state
            lost.remove(category)
        }
        guard orders[category] == 0 else { return }
        orders[category] = nil
        if isDurable || asked[category] ?? .allow <= settled(category) { asked[category] = nil }
    }

    /// Events of a category are about to be purged: none is taken or sent until `endPurge`.
    package mutating func beginPurge(_ category: String) { purges[category, default: 0] += 1 }

    package mutating func endPurge(_ category: String) {
        guard let count = purges[category] else { return }
        purges[category] = count > 1 ? count - 1 : nil
    }
}
