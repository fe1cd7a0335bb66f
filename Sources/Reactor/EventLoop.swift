package import Posix
package import Time

/// What a registered descriptor calls when it is ready.
package protocol ReadyHandler: AnyObject {
    /// The descriptor behind `registration` is ready; called on the loop's thread, level-triggered.
    func ready(_ readiness: Readiness, registration: EventLoop.Registration)
}

/// The event loop of one thread: at most 64 ready descriptors a turn, then timers, then the end-of-turn work.
///
/// A registration carries a slot and that slot's generation in the descriptor's token, so that an event of a descriptor
/// closed earlier in the same turn finds nobody.
package final class EventLoop {
    /// A descriptor's place in the loop.
    package struct Registration: Hashable, Sendable {
        let slot: Int
        let generation: UInt32
        var token: UInt64 { UInt64(generation) << 32 | UInt64(slot) }
    }

    private struct Slot {
        var handler: (any ReadyHandler)?
        var descriptor: Int32 = -1
        var generation: UInt32 = 0
    }

    private var epoll: Epoll
    private var slots: [Slot] = []
    private var free: [Int] = []
    private var timers = TimerHeap()
    private var stopped = false
    private var pending: [(UInt64, Readiness)] = []

    /// Storage that connections read into, one at a time, so that an idle one holds none; empty in between.
    var receiveBuffer: [UInt8] = []

    /// When this turn began, on the boot clock.
    package private(set) var now = Clock.now
    /// How long the longest turn took, without its wait.
    package private(set) var longestTurn: Duration = .zero
    /// How often the loop has turned.
    package private(set) var turns: UInt64 = 0
    /// Called in each turn once all that was ready has been told of, before the timers.
    package var afterReady: (() -> Void)?
    /// Called at the end of each turn, before the loop waits; may schedule timers.
    package var endOfTurn: (() -> Void)?

    /// A loop with nothing to wait for.
    package init() throws(Errno) {
        epoll = try Epoll()
        pending.reserveCapacity(64)
    }

    /// Watches a descriptor, which must stay open until `deregister`.
    package func register(
        _ number: Int32, _ interest: Readiness, handler: any ReadyHandler
    ) throws(Errno) -> Registration {
        let slot = free.popLast() ?? slots.count
        if slot == slots.count { slots.append(Slot()) }
        slots[slot].generation &+= 1
        let registration = Registration(slot: slot, generation: slots[slot].generation)
        do throws(Errno) {
            try epoll.add(number, interest, token: registration.token)
        } catch {
            free.append(slot)
            throw error
        }
        slots[slot].handler = handler
        slots[slot].descriptor = number
        return registration
    }

    /// Changes what a descriptor waits for.
    package func modify(_ registration: Registration, _ interest: Readiness) throws(Errno) {
        precondition(isCurrent(registration))
        try epoll.modify(slots[registration.slot].descriptor, interest, token: registration.token)
    }

    /// Stops watching a descriptor; call it before the descriptor is closed.
    package func deregister(_ registration: Registration) {
        precondition(isCurrent(registration))
        try? epoll.remove(slots[registration.slot].descriptor)
        release(registration)
    }

    /// Stops watching a descriptor that others may have closed already; false where they have.
    package func deregisterIfOpen(_ registration: Registration) -> Bool {
        precondition(isCurrent(registration))
        let wasOpen = epoll.removeIfOpen(slots[registration.slot].descriptor)
        release(registration)
        return wasOpen
    }

    private func release(_ registration: Registration) {
        slots[registration.slot].handler = nil
        slots[registration.slot].descriptor = -1
        free.append(registration.slot)
    }

    /// Calls `body` once, in the first turn that begins at `deadline` or later.
    @discardableResult
    package func schedule(at deadline: Instant, _ body: @escaping () -> Void) -> TimerToken {
        timers.add(at: deadline, body)
    }

    /// Takes a timer back; no effect once it has run.
    package func cancel(_ token: TimerToken) { timers.cancel(token) }

    /// Turns until `stop`.
    package func run() throws(Errno) {
        while !stopped { try turn(limit: nil) }
    }

    /// Ends `run` after this turn.
    package func stop() { stopped = true }

    /// One turn; waits for at most `limit`, without end where it is nil.
    package func turn(limit: Duration?) throws(Errno) {
        try epoll.wait(milliseconds: waitMilliseconds(limit)) { token, readiness in
            pending.append((token, readiness))
        }
        now = Clock.now
        let began = now
        for (token, readiness) in pending {
            let slot = Int(truncatingIfNeeded: token & 0xFFFF_FFFF)
            let registration = Registration(slot: slot, generation: UInt32(truncatingIfNeeded: token >> 32))
            guard isCurrent(registration), let handler = slots[slot].handler else { continue }
            handler.ready(readiness, registration: registration)
        }
        pending.removeAll(keepingCapacity: true)
        afterReady?()
        while let body = timers.next(due: now) { body() }
        endOfTurn?()
        turns += 1
        longestTurn = max(longestTurn, Clock.now - began)
    }

    /// Forgets the longest turn so far.
    package func resetLongestTurn() { longestTurn = .zero }

    private func isCurrent(_ registration: Registration) -> Bool {
        registration.slot < slots.count && slots[registration.slot].generation == registration.generation
            && slots[registration.slot].descriptor >= 0
    }

    private func waitMilliseconds(_ limit: Duration?) -> Int32 {
        guard !stopped else { return 0 }
        var wait = limit
        if let deadline = timers.earliest {
            let left = max(.zero, deadline - Clock.now)
            wait = min(wait ?? left, left)
        }
        guard let wait else { return -1 }
        return Int32(min(Int64(Int32.max), (wait.nanoseconds + 999_999) / 1_000_000))
    }
}
