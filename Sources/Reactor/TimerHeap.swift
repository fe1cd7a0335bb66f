internal import Time

/// A scheduled timer.
package struct TimerToken: Hashable, Sendable {
    let number: UInt64
}

/// Timers by deadline: a binary heap; a cancelled timer stays as a hole until its deadline or until half are holes.
struct TimerHeap {
    private struct Entry {
        let deadline: Instant
        let number: UInt64
        func isBefore(_ other: Entry) -> Bool { (deadline, number) < (other.deadline, other.number) }
    }

    private var heap: [Entry] = []
    private var bodies: [UInt64: () -> Void] = [:]
    private var lastNumber: UInt64 = 0

    /// The earliest deadline of a timer that still counts.
    var earliest: Instant? {
        mutating get {
            while let first = heap.first, bodies[first.number] == nil { removeFirst() }
            return heap.first?.deadline
        }
    }

    mutating func add(at deadline: Instant, _ body: @escaping () -> Void) -> TimerToken {
        lastNumber += 1
        bodies[lastNumber] = body
        heap.append(Entry(deadline: deadline, number: lastNumber))
        siftUp(heap.count - 1)
        return TimerToken(number: lastNumber)
    }

    mutating func cancel(_ token: TimerToken) {
        guard bodies.removeValue(forKey: token.number) != nil else { return }
        guard heap.count > 64, heap.count > 2 * bodies.count else { return }
        heap.removeAll { bodies[$0.number] == nil }
        for index in stride(from: heap.count / 2 - 1, through: 0, by: -1) { siftDown(index) }
    }

    /// Takes out the earliest timer whose deadline has come.
    mutating func next(due now: Instant) -> (() -> Void)? {
        guard let deadline = earliest, deadline <= now else { return nil }
        return bodies.removeValue(forKey: removeFirst().number)
    }

    @discardableResult
    private mutating func removeFirst() -> Entry {
        heap.swapAt(0, heap.count - 1)
        let first = heap.removeLast()
        siftDown(0)
        return first
    }

    private mutating func siftUp(_ start: Int) {
        var child = start
        while child > 0 {
            let parent = (child - 1) / 2
            guard heap[child].isBefore(heap[parent]) else { return }
            heap.swapAt(child, parent)
            child = parent
        }
    }

    private mutating func siftDown(_ start: Int) {
        var parent = start
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2]
            where child < heap.count && heap[child].isBefore(heap[least]) { least = child }
            guard least != parent else { return }
            heap.swapAt(parent, least)
            parent = least
        }
    }
}
