package import Time

/// What an operator asks for beside status and reload.
package enum OperatorOrder: Sendable, Equatable {
    /// Stop sending to a destination, for good or for a while.
    case pause(destination: String, for: Duration?)
    /// Go on, at once.
    case resume(destination: String)
    /// Find out, step by step, what is on the way to a destination.
    case probe(destination: String)
    /// Give up what is kept for a destination that the configuration names no more.
    case forget(destination: String)
    /// What is kept for such a destination is for another that is to be.
    case rename(destination: String, to: String)
    /// What each log holds.
    case logs
    /// One event that is kept.
    case event(id: String)
    /// Some dead letters, those behind `after` or those of that event.
    case letters(destination: String?, id: String?, after: String?)
    /// Send dead letters again.
    case retry(LetterSelection)
    /// Throw dead letters away.
    case drop(LetterSelection)
    /// From now on that may be done with events of a category.
    case consent(category: String, ConsentWord)
    /// Take all events of a category out of the queue.
    case purge(category: String)
    /// Take one event out of the queue.
    case purgeEvent(id: String)
}

/// What may be done with events of a category; the raw values are what users see.
package enum ConsentWord: String, Sendable {
    case allow, hold, deny
}

/// Which dead letters an order is for.
package struct LetterSelection: Sendable, Equatable {
    /// The ids of their events; nil: all.
    package let ids: [String]?
    /// Nil: whatever the destination.
    package let destination: String?

    package init(ids: [String]?, destination: String?) {
        self.ids = ids
        self.destination = destination
    }
}

/// A dead letter as operators see it.
package struct DeadLetterReport: Sendable, Equatable {
    package let id: String
    package let destination: String
    package let log: String
    /// The status of the answer.
    package let status: Int
    /// The start of the answer; not to be trusted.
    package let detail: String
    package let attempts: Int
    /// When the answer came.
    package let at: WallTime
    package let acceptedAt: WallTime?
    /// It is to be sent again.
    package let isRetried: Bool
    package let event: [UInt8]

    package init(
        id: String, destination: String, log: String, status: Int, detail: String, attempts: Int, at: WallTime,
        acceptedAt: WallTime?, isRetried: Bool, event: [UInt8]
    ) {
        self.id = id
        self.destination = destination
        self.log = log
        self.status = status
        self.detail = detail
        self.attempts = attempts
        self.at = at
        self.acceptedAt = acceptedAt
        self.isRetried = isRetried
        self.event = event
    }
}

/// One log as operators see it.
package struct LogReport: Sendable, Equatable {
    package let name: String
    /// Events that some destination still has to get.
    package let events: UInt64
    /// Bytes on disk.
    package let bytes: UInt64
    /// The oldest of these events, without its bytes; nil where there is none, or it cannot be read.
    package let oldest: EventReport?

    package init(name: String, events: UInt64, bytes: UInt64, oldest: EventReport?) {
        self.name = name
        self.events = events
        self.bytes = bytes
        self.oldest = oldest
    }
}

/// A kept event as operators see it.
package struct EventReport: Sendable, Equatable {
    package let id: String
    package let log: String
    /// Nil where the clock was not synchronised.
    package let acceptedAt: WallTime?
    package let age: Duration
    /// Those that still have to get it.
    package let destinations: [String]
    package let event: [UInt8]

    package init(
        id: String, log: String, acceptedAt: WallTime?, age: Duration, destinations: [String], event: [UInt8]
    ) {
        self.id = id
        self.log = log
        self.acceptedAt = acceptedAt
        self.age = age
        self.destinations = destinations
        self.event = event
    }
}

/// What came of an order.
package enum OperatorAnswer: Sendable, Equatable {
    case done
    case logs([LogReport])
    case event(EventReport)
    /// It concerned so many events.
    case count(UInt64)
    /// So many events that some destination still had are gone from the disk.
    case purged(UInt64)
    /// The state is kept; where it is `deny`, so many events are gone from the disk.
    case consent(ConsentWord, purged: UInt64)
    /// The state is kept, but not all of its events are gone; that is tried again.
    case unpurged(String)
    /// Dead letters, and, where there are more, what to give as `after`; `withEvents`, one of them was asked for.
    case letters([DeadLetterReport], next: String?, withEvents: Bool)
    /// A document of JSON.
    case document([UInt8])
    /// There is nothing of that name.
    case unknown(String)
    /// It does not go together with how things are.
    case conflict(String)
    /// It cannot be done now.
    case failed(String)

    /// The answer where no destination has that name.
    package static func unknown(destination name: String) -> OperatorAnswer {
        .unknown("no destination is named \(name)")
    }
}
