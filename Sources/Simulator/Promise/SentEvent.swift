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

    /// An event that was posted as plain JSON, in the envelope of a CloudEvent.
    private init?(cloudEvent value: JSONValue) {
        guard let number = value["data"]?["n"]?.integer, value["specversion"]?.string == "1.0" else { return nil }
        self.number = Int(number)
        id = value["id"]?.string
        isQueued = value["wasqueued"]?.string == "true"
        reason = value["queuereason"]?.string
        type = value["networktype"]?.string
    }

    /// The number that an event was posted with.
    static func number(_ event: [UInt8]) -> Int? {
        (try? JSONValue(parsing: event))?["n"]?.integer.map { Int($0) }
    }

    /// The events of a body; nil where it is not laid out as its format says.
    static func events(in body: [UInt8], _ format: DestinationSettings.Format) -> [SentEvent]? {
        let whole = try? JSONValue(parsing: body)
        let values: [JSONValue?] =
            switch format {
            case .json: whole?.array ?? [nil]
            case .object, .cloudevents: [whole]
            case .ndjson:
                body.last == UInt8(ascii: "\n")
                    ? body.split(separator: UInt8(ascii: "\n")).map { try? JSONValue(parsing: Array($0)) } : [nil]
            case .tealium:
                whole?["events"]?.array?.map { .object((whole?["shared"]?.members ?? []) + ($0.members ?? [])) }
                    ?? [whole]
            }
        let events = values.compactMap { value in
            value.flatMap { format == .cloudevents ? SentEvent(cloudEvent: $0) : SentEvent($0) }
        }
        return events.count == values.count ? events : nil
    }
}
