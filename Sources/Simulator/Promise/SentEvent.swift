internal import Bytes
internal import Delivery
internal import JSON
internal import Queue

/// An event as a request carries it.
struct SentEvent {
    let number: Int
    let id: String?
    let isQueued: Bool
    let reason: String?
    let type: String?

    private init?(_ value: JSONValue) {
        guard let number = value["n"]?.integer else { return nil }
        self.number = Int(number)
        id = value["event_id"]?.string
        isQueued = value["was_queued"]?.string == "true"
        reason = value["queue_reason"]?.string
        type = value["network_connection_type"]?.string
    }

    /// The number that an event was posted with.
    static func number(_ event: [UInt8]) -> Int? {
        (try? JSONValue(parsing: event))?["n"]?.integer.map { Int($0) }
    }

    /// The events of a body; nil where it is not laid out as its format says.
    static func events(in body: [UInt8], _ format: DestinationSettings.Format) -> [SentEvent]? {
        let values: [JSONValue?] =
            switch format {
            case .json: (try? JSONValue(parsing: body))?.array ?? [nil]
            case .object: [try? JSONValue(parsing: body)]
            case .ndjson:
                body.last == UInt8(ascii: "\n")
                    ? body.split(separator: UInt8(ascii: "\n")).map { try? JSONValue(parsing: Array($0)) } : [nil]
            }
        let events = values.compactMap { $0.flatMap { SentEvent($0) } }
        return events.count == values.count ? events : nil
    }
}
