internal import Time

/// What is to happen when: by time, and at one time in the order of planning.
struct Agenda<Item> {
    private var entries: [(at: Instant, item: Item)] = []

    /// When the next item is due.
    var next: Instant? { entries.last?.at }

    mutating func add(_ item: Item, at instant: Instant) {
        var low = 0
        var high = entries.count
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].at > instant { low = middle + 1 } else { high = middle }
        }
        entries.insert((instant, item), at: low)
    }

    mutating func take() -> Item? { entries.popLast()?.item }
}
