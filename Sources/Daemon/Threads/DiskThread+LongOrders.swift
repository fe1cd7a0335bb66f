internal import Reactor

extension DiskThread {
    /// Does a slice of the order whose turn it is; there must be one.
    func advanceOrders() {
        var (number, order) = longOrders.removeFirst()
        snapshotIsDue = true
        guard let answer = order.advance(in: queue) else { return longOrders.append((number, order)) }
        replies.post(.carriedOut(number: number, answer))
    }
}
