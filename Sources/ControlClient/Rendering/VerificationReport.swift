internal import Bytes
internal import JSON
internal import Queue
internal import Time

/// What `verify` prints.
struct VerificationReport {
    private static let mostLines = 100

    private let directory: String
    private let found: Verification
    /// By destination, of each the lanes first.
    private let cursors: [Verification.Cursor]

    init(_ directory: String, _ found: Verification) {
        self.directory = directory
        self.found = found
        func key(_ cursor: Verification.Cursor) -> (String, Int, String) {
            (cursor.destination, LogName.lanes.firstIndex(of: cursor.log) ?? LogName.lanes.count, cursor.log.text)
        }
        cursors = found.cursors.sorted { key($0) < key($1) }
    }

    /// For people; the last line is the verdict.
    var text: String {
        var lines = [found.created.map { "\(directory): a queue since \($0.rfc3339.text)" } ?? "\(directory): a queue"]
        lines += found.logs.flatMap { self.lines(of: $0) }
        lines += cursors.map(line)
        if found.deadLetters.count > 0 {
            let count = plural(UInt64(found.deadLetters.count), "dead letter")
            lines.append("\(count), \(found.deadLetters.retried) to be sent again")
        }
        if found.quarantine.files > 0 {
            let bytes = Amount.bytes(Int64(found.quarantine.bytes))
            lines.append("quarantine: \(plural(UInt64(found.quarantine.files), "file")), \(bytes)")
        }
        let faults = found.faults
        lines += faults.prefix(Self.mostLines).map { "damage: " + words($0) }
        if faults.count > Self.mostLines { lines.append("damage: \(faults.count - Self.mostLines) more") }
        lines += unfinished.prefix(Self.mostLines).map {
            "no damage: a write that was cut off, of which nothing was acknowledged: " + place($0)
        }
        return (lines + [verdict]).joined(separator: "\n") + "\n"
    }

    private var verdict: String {
        let events = found.logs.reduce(0) { $0 + $1.events }
        guard !found.faults.isEmpty else { return "sound: \(plural(events, "event")) can be read" }
        let places = plural(UInt64(found.faults.count), "place")
        let lost = found.logs.reduce(0) { $0 + $1.unreadable }
        return "damaged: \(places); \(plural(lost, "event")) cannot be read, \(plural(events, "event")) can"
    }

    private var unfinished: [Verification.Damage] { found.logs.flatMap(\.damages).filter { !$0.counts } }

    private func lines(of log: Verification.Log) -> [String] {
        let events = log.sequences.map { "events \($0.lowerBound) to \($0.upperBound)" } ?? "no event"
        let files = "\(plural(UInt64(log.segments), "segment")), \(Amount.bytes(Int64(log.bytes)))"
        let first = "\(log.name.text): \(events) in \(plural(UInt64(log.batches), "batch", "batches")); \(files)"
        let holes = log.holes > 0 ? ["\(log.name.text): \(plural(log.holes, "event")) purged"] : []
        guard !log.gaps.isEmpty else { return [first] + holes }
        let gaps = log.gaps.prefix(Self.mostLines).map(range).joined(separator: ", ")
        let more = log.gaps.count > Self.mostLines ? ", …" : ""
        return [first] + holes + ["\(log.name.text): missing \(plural(log.unreadable, "event")): \(gaps)\(more)"]
    }

    private func line(of cursor: Verification.Cursor) -> String {
        let counts = cursor.ledger.counts.filter { $0.count > 0 }.map { "\($0.count) \($0.name)" }
        let settled = counts.isEmpty ? "nothing settled" : counts.joined(separator: ", ")
        return
            "\(cursor.destination), \(cursor.log.text): next event \(cursor.low); \(settled), \(cursor.queued) queued"
    }

    private func words(_ damage: Verification.Damage) -> String {
        let isOfCursors = damage.path == "cursors"
        let kind =
            switch damage.kind {
            case .repaired: isOfCursors ? "one of two copies of a cursor, the other is whole" : "no event lost"
            case .corrupted where isOfCursors:
                "both copies of a cursor, its destination starts again at the oldest event"
            case .missing where isOfCursors: "missing, all destinations start again at the oldest event"
            default: damage.kind.rawValue
            }
        return "\(kind): \(place(damage))"
    }

    private func place(_ damage: Verification.Damage) -> String {
        let place = damage.length > 0 ? "\(damage.path) at \(damage.offset), \(damage.length) bytes" : damage.path
        return place + (damage.sequences.map { ": event " + range($0) } ?? "")
    }

    private func range(_ sequences: ClosedRange<UInt64>) -> String {
        sequences.count == 1 ? "\(sequences.lowerBound)" : "\(sequences.lowerBound) to \(sequences.upperBound)"
    }

    private func plural(_ count: UInt64, _ one: String, _ many: String? = nil) -> String {
        count == 1 ? "1 \(one)" : "\(Quantity.count(Int64(clamping: count))) \(many ?? one + "s")"
    }
}

extension VerificationReport {
    /// For programs; one object.
    var json: [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        json.member("directory", directory)
        json.member("sound", found.faults.isEmpty)
        json.member("created", found.created?.rfc3339.text)
        json.name("logs")
        json.beginObject()
        for log in found.logs {
            json.name(log.name.text)
            append(log, to: &json)
        }
        json.endObject()
        json.name("cursors")
        json.beginArray()
        for cursor in cursors { append(cursor, to: &json) }
        json.endArray()
        json.name("dead_letters")
        json.beginObject()
        json.member("count", found.deadLetters.count)
        json.member("retried", found.deadLetters.retried)
        json.member("bytes", found.deadLetters.bytes)
        json.endObject()
        json.append(quarantine: found.quarantine)
        for (name, damages) in [("damage", found.faults), ("unfinished", unfinished)] {
            json.name(name)
            json.beginArray()
            for each in damages { json.append(each) }
            json.endArray()
        }
        json.endObject()
        return json.bytes
    }

    private func append(_ log: Verification.Log, to json: inout JSONWriter) {
        json.beginObject()
        json.member("segments", log.segments)
        json.member("batches", log.batches)
        json.member("bytes", log.bytes)
        json.member("events", log.events)
        json.member("first", log.sequences?.lowerBound)
        json.member("last", log.sequences?.upperBound)
        json.member("holes", log.holes)
        json.member("unreadable", log.unreadable)
        json.name("gaps")
        json.beginArray()
        for gap in log.gaps {
            json.beginObject()
            json.member("first", gap.lowerBound)
            json.member("last", gap.upperBound)
            json.endObject()
        }
        json.endArray()
        json.endObject()
    }

    private func append(_ cursor: Verification.Cursor, to json: inout JSONWriter) {
        json.beginObject()
        json.member("destination", cursor.destination)
        json.member("log", cursor.log.text)
        json.member("low", cursor.low)
        json.member("origin", cursor.origin)
        json.name("ledger")
        json.beginObject()
        for (name, count) in cursor.ledger.counts { json.member(name, count) }
        json.member("queued", cursor.queued)
        json.endObject()
        json.endObject()
    }
}

extension Ledger {
    /// Its counts with their names.
    fileprivate var counts: [(name: String, count: UInt64)] {
        [
            ("delivered", delivered), ("dead", dead), ("expired", expired), ("evicted", evicted), ("purged", purged),
            ("quarantined", quarantined),
        ]
    }
}
