internal import Gates
internal import Queue
internal import Time

/// What operators have ordered of the category and of single events, and what came of it.
struct ConsentOrders {
    /// The states of which a start may find one.
    var findable: Set<ConsentState> = [.allow]
    /// The last state that was answered as durable, or found by the start.
    private var kept = ConsentState.allow
    /// The most that orders forbid that are not answered yet, or that could not be made durable.
    private var asked = ConsentState.allow
    /// Orders for a state that are not answered yet.
    private var openStates = 0
    /// Purges of the category that are not answered yet.
    private var openPurges = 0
    /// How often each event is ordered to be purged, without an answer yet.
    private(set) var openEvents: [Int: Int] = [:]

    /// Since when events of the denied category may be there, which are to be purged without another order.
    var owesPurgeSince: Instant?
    /// Numbers of the category's log up to here may be gone, by an order that the disk's thread began.
    var purgedThrough: UInt64 = 0
    /// Single events that may be gone so.
    var purged: Set<Int> = []
    /// Events of the category up to this one are gone, by a receipt.
    var goneThrough = 0
    /// Single events that are gone, by a receipt.
    var gone: Set<Int> = []

    /// The state in force: what forbids more from the order on, what forbids less once it is durable.
    var state: ConsentState { max(kept, asked) }

    /// Nothing of the category may be sent.
    var areWithholding: Bool { state != .allow || openPurges > 0 }

    /// Nothing of the category may be taken.
    var areRefusing: Bool { state == .deny || openPurges > 0 }

    /// An order has no answer yet.
    var areOpen: Bool { openStates > 0 || openPurges > 0 || !openEvents.isEmpty }

    /// Something is gone by a receipt.
    var hasReceipts: Bool { goneThrough > 0 || !gone.isEmpty }

    mutating func ask(_ state: ConsentState) {
        openStates += 1
        asked = max(asked, state)
    }

    mutating func answer(_ state: ConsentState, isDurable: Bool) {
        openStates -= 1
        if isDurable { kept = state }
        if openStates == 0, isDurable || asked <= kept { asked = .allow }
        if self.state != .deny { owesPurgeSince = nil }
    }

    mutating func askPurge() { openPurges += 1 }

    mutating func answerPurge() { openPurges -= 1 }

    mutating func askPurge(of event: Int) { openEvents[event, default: 0] += 1 }

    mutating func answerPurge(of event: Int) {
        guard let count = openEvents[event] else { return }
        openEvents[event] = count > 1 ? count - 1 : nil
    }

    /// A start has found a state; orders without an answer are forgotten.
    mutating func found(_ state: ConsentState, owesPurgeSince: Instant?) {
        (kept, asked, openStates, openPurges, openEvents) = (state, .allow, 0, 0, [:])
        findable = [state]
        self.owesPurgeSince = owesPurgeSince
    }
}
