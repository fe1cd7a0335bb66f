package import Posix

extension Notice {
    /// A write or sync failed, or could not be begun; `offset` in bytes.
    package static func storageFailed(_ errno: Errno, file: String?, offset: Int64? = nil) -> Notice {
        Notice(
            .storageFailed,
            [
                .errno: String(errno.code), .detail: errno.description, .file: file,
                .offset: offset.map { String($0) },
            ])
    }

    package static func storageCured(after span: Duration? = nil) -> Notice {
        Notice(.storageCured, [.seconds: span.map { seconds($0) }])
    }

    package static func diskSlow(_ span: Duration) -> Notice { Notice(.diskSlow, [.seconds: seconds(span)]) }

    /// The last batch of a segment was never completed; `bytes` of it are passed over, with the events in them if
    /// their sequence numbers are known.
    package static func tornTail(file: String, bytes: Int64, sequences: ClosedRange<UInt64>? = nil) -> Notice {
        Notice(
            .tornTail,
            [
                .file: file, .bytes: String(bytes), .first: sequences.map { String($0.lowerBound) },
                .last: sequences.map { String($0.upperBound) },
            ])
    }

    /// Events that cannot be read; `first` and `last` are event ids or sequence numbers, `offset` in bytes.
    package static func eventsQuarantined(
        log: String, file: String, offset: Int64, first: String, last: String, events: UInt64
    ) -> Notice {
        Notice(
            .eventsQuarantined,
            [
                .log: log, .file: file, .offset: String(offset), .first: first, .last: last,
                .events: String(events),
            ])
    }

    /// A log of which nothing is left, though destinations have come some way in it.
    package static func logMissing(log: String) -> Notice { Notice(.logMissing, [.log: log]) }

    /// Events of a log that were too old when their turn came.
    package static func eventsExpired(_ events: UInt64, log: String, destination: String) -> Notice {
        Notice(.eventsExpired, [.events: String(events), .log: log, .destination: destination])
    }

    /// Events of a log that made room for newer ones.
    package static func eventsEvicted(_ events: UInt64, log: String, destination: String) -> Notice {
        Notice(.eventsEvicted, [.events: String(events), .log: log, .destination: destination])
    }

    /// A cursor starts again at the sequence number `first`.
    package static func cursorReset(destination: String, log: String, first: UInt64) -> Notice {
        Notice(.cursorReset, [.destination: destination, .log: log, .first: String(first)])
    }

    /// Dead letters of a log that the destination's cursor did not count.
    package static func lettersAdopted(_ count: UInt64, destination: String, log: String) -> Notice {
        Notice(.lettersAdopted, [.destination: destination, .log: log, .events: String(count)])
    }

    /// The names in the queue's directory that are no part of a queue: one notice for each, and one for those over 8.
    package static func strayFiles(_ paths: [String]) -> [Notice] {
        let limit = 8
        let named = paths.prefix(limit).map { Notice(.strayFile, [.file: $0, .detail: $0]) }
        let rest = paths.count - limit
        guard rest > 0 else { return named }
        let text = rest == 1 ? "1 more name" : "\(rest) more names"
        return named + [Notice(.strayFile, [.count: String(rest), .detail: text])]
    }

    /// A consent category is in another state, set by an operator, a reload, or found at the start.
    package static func consentChanged(_ category: String, from: String, to: String, cause: String?) -> Notice {
        Notice(.consentChanged, [.category: category, .previousState: from, .state: to, .reason: cause])
    }

    /// The states of consent that were set could not be read.
    package static func consentLost(categories: String) -> Notice {
        Notice(.consentLost, [.detail: categories])
    }

    /// Events, of a category or one by its id, are gone from the disk; how many some destination still had.
    package static func eventsPurged(_ events: UInt64, category: String?) -> Notice {
        Notice(.eventsPurged, [.events: String(events), .category: category])
    }

    package static func recovered(events: UInt64, took span: Duration) -> Notice {
        Notice(.recovered, [.events: String(events), .seconds: seconds(span)])
    }

    /// The queue has passed `percent` (50, 80 or 95) of its limit.
    package static func queueFilling(percent: Int, events: UInt64, bytes: Int64) -> Notice {
        Notice(
            .queueFilling, [.percent: String(percent), .events: String(events), .bytes: String(bytes)])
    }

    /// A commit was refused, for a reason such as `full`; `detail` is the sentence that clients get.
    package static func intakeRefused(reason: String, detail: String) -> Notice {
        Notice(.intakeRefused, [.reason: reason, .detail: detail])
    }
}
