internal import Queue
internal import SystemdService
internal import Time

/// Tells of events that expired or were evicted: of the first at once, of those that follow once a minute.
struct LossWatch {
    private static let interval = Duration.seconds(60)

    private struct Place: Hashable {
        let destination: String
        let log: LogName
    }

    /// What was told of one destination and log, and when.
    private struct Account {
        var told: Ledger
        var at: Instant?
    }

    private var accounts: [Place: Account] = [:]

    /// What has happened before `snapshot` is not told.
    init(_ snapshot: QueueSnapshot) {
        for cursor in snapshot.cursors {
            accounts[Place(destination: cursor.destination, log: cursor.log)] = Account(told: cursor.ledger)
        }
    }

    /// What was told of a destination was told of the one that goes on in its place.
    mutating func rename(_ destination: String, to name: String) {
        for (place, account) in accounts where place.destination == destination {
            accounts[place] = nil
            accounts[Place(destination: name, log: place.log)] = account
        }
    }

    /// What a snapshot gives reason to tell now, and when to look at it again, if it tells of more.
    mutating func take(_ snapshot: QueueSnapshot, at now: Instant) -> (notices: [Notice], next: Instant?) {
        var notices: [Notice] = []
        var next: Instant?
        for cursor in snapshot.cursors {
            let place = Place(destination: cursor.destination, log: cursor.log)
            let account = accounts[place] ?? Account(told: Ledger())
            let expired = cursor.ledger.expired - min(cursor.ledger.expired, account.told.expired)
            let evicted = cursor.ledger.evicted - min(cursor.ledger.evicted, account.told.evicted)
            guard expired + evicted > 0 else { continue }
            if let due = account.at.map({ $0 + Self.interval }), due > now {
                next = min(next ?? due, due)
                continue
            }
            let log = cursor.log.text
            if expired > 0 { notices.append(.eventsExpired(expired, log: log, destination: cursor.destination)) }
            if evicted > 0 { notices.append(.eventsEvicted(evicted, log: log, destination: cursor.destination)) }
            accounts[place] = Account(told: cursor.ledger, at: now)
        }
        return (notices, next)
    }
}
