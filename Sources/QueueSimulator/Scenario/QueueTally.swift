internal import Bytes
internal import Queue

/// What happened in one life, or in many.
package struct QueueTally: Sendable {
    var operations = 0
    var crashes = 0
    var commits = 0
    var refusals = 0
    /// Events acknowledged.
    var events = 0
    var requests = 0
    var letters = 0
    var purged = 0
    /// Of events, at each destination: evicted or expired.
    var evicted = 0
    var expired = 0
    /// Events that faults have cost.
    var lost = 0
    var faults: [InjectedFault: Int] = [:]

    mutating func count(_ truth: Truth) {
        lost = truth.lost.reduce(0) { $0 + $1.count }
        for account in truth.accounts.values {
            evicted += Int(account.ledger.evicted)
            expired += Int(account.ledger.expired)
        }
    }

    /// Its numbers with their names, always in the same order.
    fileprivate var numbers: [(name: String, value: Int)] {
        let counts = [
            ("operations", operations), ("crashes", crashes), ("commits", commits), ("refusals", refusals),
            ("events", events), ("requests", requests), ("dead letters", letters), ("purged", purged),
            ("evicted", evicted), ("expired", expired), ("lost to damage", lost),
        ]
        return counts + InjectedFault.allCases.map { ("\($0)", faults[$0] ?? 0) }
    }
}

/// How the numbers of many lives are spread.
package struct QueueDistribution {
    private var values: [String: [Int]] = [:]
    private var names: [String] = []

    package init() {}

    package mutating func add(_ tally: QueueTally) {
        if names.isEmpty { names = tally.numbers.map(\.name) }
        for (name, value) in tally.numbers { values[name, default: []].append(value) }
    }

    /// A table, a line a number: least, median, most in one life, and the total.
    package var text: String {
        let rows = names.map { name -> String in
            let sorted = (values[name] ?? []).sorted()
            let cells = [
                sorted.first ?? 0, sorted.isEmpty ? 0 : sorted[sorted.count / 2], sorted.last ?? 0,
                sorted.reduce(0, +),
            ]
            return Self.pad(name, 18) + cells.map { Self.pad("\($0)", -12) }.joined()
        }
        let head = Self.pad("a seed", 18) + ["least", "median", "most", "total"].map { Self.pad($0, -12) }.joined()
        return ([head] + rows).joined(separator: "\n")
    }

    private static func pad(_ text: String, _ width: Int) -> String {
        let blanks = String(repeating: " ", count: max(0, abs(width) - text.utf8.count))
        return width < 0 ? blanks + text : text + blanks
    }
}
