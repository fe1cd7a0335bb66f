internal import Bytes
internal import JSON

/// `tealium`: an event to `/event`, or up to 10 to `/bulk-event` with what all of them have in common apart.
///
/// `{"shared":{…},"events":[{…},…]}`; a member is shared only where each event has it once, under the same name with
/// the same bytes as its value, so that none inherits another's.
struct Tealium: BodyFormat {
    static var contentType: String { "application/json" }
    static var maximumEvents: Int { 10 }
    var marginBytes: Int { 32 }

    /// An event with more members shares none.
    private static let sharingLimit = 256

    init(_ settings: DestinationSettings) {}

    static func url(_ url: DestinationURL, events: Int) -> DestinationURL {
        url.appending(events == 1 ? "event" : "bulk-event", insteadOf: ["event", "bulk-event"])
    }

    static func isRefusal(_ answer: TransportAnswer) -> Bool {
        (200...299).contains(answer.status) && answer.headers.first(named: "X-Error") != nil
    }

    func append(
        _ event: Span<UInt8>, _ facts: Enrichment.Facts, _ enrichment: inout Enrichment, isFirst: Bool,
        to body: inout [UInt8]
    ) {
        body.append(isFirst ? UInt8(ascii: "[") : UInt8(ascii: ","))
        enrichment.append(event, facts, to: &body)
    }

    func close(_ body: inout [UInt8]) {
        body.append(UInt8(ascii: "]"))
        var elements = JSONElements(arrayAt: 0)
        var events: [Range<Int>] = []
        while let event = elements.next(in: body.span) { events.append(event) }
        body = events.count == 1 ? Array(body[events[0]]) : Self.bulk(body.span, events)
    }

    private static func bulk(_ array: Span<UInt8>, _ events: [Range<Int>]) -> [UInt8] {
        let members = events.map { Self.members(of: $0, in: array) }
        let shared = shared(members, in: array)
        var body: [UInt8] = []
        body.reserveCapacity(array.count + 32)
        body.append("{\"shared\":")
        append(members[0].filter { shared.contains(name($0, in: array)) }, of: array, to: &body)
        body.append(",\"events\":[")
        for (index, event) in events.enumerated() {
            if index > 0 { body.append(UInt8(ascii: ",")) }
            if shared.isEmpty {
                body.append(contentsOf: array.extracting(event))
            } else {
                append(members[index].filter { !shared.contains(name($0, in: array)) }, of: array, to: &body)
            }
        }
        body.append("]}")
        return body
    }

    /// An object of these members, each with the bytes that it has.
    private static func append(_ members: [JSONMember], of array: Span<UInt8>, to body: inout [UInt8]) {
        body.append(UInt8(ascii: "{"))
        for (index, member) in members.enumerated() {
            if index > 0 { body.append(UInt8(ascii: ",")) }
            // With the name's quotation mark.
            body.append(contentsOf: array.extracting(member.name.lowerBound - 1..<member.value.upperBound))
        }
        body.append(UInt8(ascii: "}"))
    }

    private static func members(of event: Range<Int>, in array: Span<UInt8>) -> [JSONMember] {
        var walk = JSONMembers(objectAt: event.lowerBound)
        var members: [JSONMember] = []
        while let member = walk.next(in: array) { members.append(member) }
        return members
    }

    /// The names, escapes resolved, of the members that all events share.
    private static func shared(_ members: [[JSONMember]], in array: Span<UInt8>) -> Set<[UInt8]> {
        guard members.allSatisfy({ $0.count <= sharingLimit }) else { return [] }
        var common = uniqueValues(members[0], in: array)
        for others in members.dropFirst() where !common.isEmpty {
            let values = uniqueValues(others, in: array)
            common = common.filter { name, value in
                values[name].map { equal($0, value, in: array) } ?? false
            }
        }
        return Set(common.keys)
    }

    /// Where the values stand of the names that an event has once.
    private static func uniqueValues(_ members: [JSONMember], in array: Span<UInt8>) -> [[UInt8]: Range<Int>] {
        let named = members.map { (name($0, in: array), $0.value) }
        return Dictionary(named.map { ($0, $1 as Range<Int>?) }) { _, _ in nil }.compactMapValues { $0 }
    }

    private static func name(_ member: JSONMember, in array: Span<UInt8>) -> [UInt8] {
        JSONText.unescaped(array, in: member.name)
    }

    private static func equal(_ first: Range<Int>, _ second: Range<Int>, in array: Span<UInt8>) -> Bool {
        guard first.count == second.count else { return false }
        for offset in 0..<first.count
        where array[first.lowerBound + offset] != array[second.lowerBound + offset] { return false }
        return true
    }
}
