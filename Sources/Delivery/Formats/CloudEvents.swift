internal import Bytes
internal import JSON
internal import Queue

/// `cloudevents`: one event a request in the JSON format of CloudEvents 1.0, structured.
///
/// A producer's CloudEvent goes out as it came, any other event as the `data` of one; what is added are extension
/// attributes, whose names hold only letters and digits.
struct CloudEvents: BodyFormat {
    static var contentType: String { "application/cloudevents+json" }
    static var maximumEvents: Int { 1 }
    var marginBytes: Int { opening.count + 64 }

    /// An envelope up to the id, which is the event's, and from behind it up to the data.
    private let opening: [UInt8]
    private let middle: [UInt8]

    init(_ settings: DestinationSettings) {
        func quoted(_ text: String) -> [UInt8] {
            var bytes: [UInt8] = []
            JSONText.append(quoted: Array(text.utf8).span, to: &bytes)
            return bytes
        }
        opening =
            Array("{\"specversion\":\"1.0\",\"source\":".utf8) + quoted(settings.cloudEventsSource)
            + Array(",\"type\":".utf8) + quoted(settings.cloudEventsType) + Array(",\"id\":\"".utf8)
        middle = Array("\",\"datacontenttype\":\"application/json\",\"data\":".utf8)
    }

    static func name(of member: DestinationSettings.Member) -> StaticString? {
        switch member {
        case .wasQueued: "wasqueued"
        case .queueReason: "queuereason"
        case .connectionType: "networktype"
        case .sentConnectionType: "sentnetworktype"
        case .acceptedAt: "acceptedat"
        case .eventID: nil
        }
    }

    func append(
        _ event: Span<UInt8>, _ facts: Enrichment.Facts, _ enrichment: inout Enrichment, isFirst: Bool,
        to body: inout [UInt8]
    ) {
        guard !Self.isCloudEvent(event) else { return enrichment.append(event, facts, to: &body) }
        body.append(all: opening)
        body.append(all: EventID(epoch: facts.epoch, sequence: facts.sequence).text)
        body.append(all: middle)
        body.append(contentsOf: event)
        enrichment.appendMembers(facts, needsComma: true, to: &body)
        body.append(UInt8(ascii: "}"))
    }

    func close(_ body: inout [UInt8]) {}

    /// True where the required attributes are there (CloudEvents 1.0, "Required attributes"), none of them twice.
    private static func isCloudEvent(_ event: Span<UInt8>) -> Bool {
        let required: [StaticString] = ["specversion", "id", "source", "type"]
        let start = JSONScanner.skipWhitespace(in: event, from: 0)
        guard start < event.count, event[start] == UInt8(ascii: "{") else { return false }
        var members = JSONMembers(objectAt: start)
        var found = 0
        while let member = members.next(in: event) {
            guard let index = required.firstIndex(where: { member.isNamed($0, in: event) }) else { continue }
            let isGood =
                index == 0
                ? event.equals("\"1.0\"", in: member.value)
                : event[member.value.lowerBound] == UInt8(ascii: "\"") && member.value.count > 2
            guard isGood, found & 1 << index == 0 else { return false }
            found |= 1 << index
        }
        return found == 0b1111
    }
}
