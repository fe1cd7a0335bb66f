internal import Bytes
internal import Gates
internal import JSON
internal import Queue
internal import Reachability
internal import Time

/// Adds members to events, before the closing brace, and changes nothing else.
struct Enrichment: Sendable {
    /// What is known of one event.
    struct Facts {
        /// The first gate that held it; nil where it was not queued.
        let gate: Gate?
        /// The link type at acceptance.
        let connectionType: ConnectionType
        /// The link type now.
        let sentConnectionType: ConnectionType
        let epoch: UInt64
        let sequence: UInt64
        let acceptedAt: WallTime?
    }

    /// The most bytes that are added to one event.
    let maximumBytes: Int

    private let members: [DestinationSettings.Member]
    /// What each of them is called.
    private let names: [StaticString]
    /// A bit for each length that one of the names has; all are shorter than 64 bytes.
    private let nameLengths: UInt64
    /// `"was_queued":"` and the like: what stands before a member's value, by the member's place.
    private let beginnings: [[UInt8]]
    /// `connectivity"`, by the gate's raw value.
    private let gates: [[UInt8]]
    /// `wifi"`, by the type's raw value.
    private let types: [[UInt8]]
    /// `<epoch>-` of the epoch last seen.
    private var epochText: [UInt8] = []
    private var epoch: UInt64?
    /// The whole second last seen, up to the decimal point, and that second.
    private var secondText: [UInt8] = []
    private var second: Int64?

    /// Adds these members, in this order, under the names that they have; without a name one is left out.
    init(
        _ members: [DestinationSettings.Member],
        named name: (DestinationSettings.Member) -> StaticString? = { $0.name }
    ) {
        self.members = members.filter { name($0) != nil }
        names = members.compactMap(name)
        nameLengths = names.reduce(0) { $0 | 1 << UInt64($1.utf8CodeUnitCount) }
        beginnings = names.map { Array("\"\($0)\":\"".utf8) }
        gates = Self.values(Gate.allCases.map { (Int($0.rawValue), $0.name) })
        types = Self.values(ConnectionType.allCases.map { (Int($0.rawValue), $0.name) })
        maximumBytes = names.map { $0.utf8CodeUnitCount + 48 }.reduce(0, +)
    }

    private static func values(_ values: [(index: Int, name: String)]) -> [[UInt8]] {
        var texts = [[UInt8]](repeating: [], count: (values.map(\.index).max() ?? -1) + 1)
        for value in values { texts[value.index] = Array((value.name + "\"").utf8) }
        return texts
    }

    /// Appends an event, a checked JSON object with or without white space around it, with the members added.
    ///
    /// A member that the event has at its top level, escapes resolved, is left alone.
    mutating func append(_ event: Span<UInt8>, _ facts: Facts, to body: inout [UInt8]) {
        guard !members.isEmpty else { return body.append(contentsOf: event) }
        let (brace, isEmpty, present) = survey(event)
        guard let brace else { return body.append(contentsOf: event) }
        body.append(contentsOf: event.extracting(0..<brace))
        appendMembers(facts, except: present, needsComma: !isEmpty, to: &body)
        body.append(contentsOf: event.extracting(brace..<event.count))
    }

    /// Appends the members, but those whose bit is set in `present`.
    mutating func appendMembers(
        _ facts: Facts, except present: UInt64 = 0, needsComma: Bool, to body: inout [UInt8]
    ) {
        var needsComma = needsComma
        for index in members.indices where present & 1 << UInt64(index) == 0 {
            guard facts.has(members[index]) else { continue }
            if needsComma { body.append(UInt8(ascii: ",")) }
            needsComma = true
            body.append(all: beginnings[index])
            appendValue(of: members[index], facts, to: &body)
        }
    }

    /// Where the closing brace stands, nil where the bytes are no object; and a bit for each member that is there.
    private func survey(_ event: Span<UInt8>) -> (brace: Int?, isEmpty: Bool, present: UInt64) {
        let start = JSONScanner.skipWhitespace(in: event, from: 0)
        guard start < event.count, event[start] == UInt8(ascii: "{") else { return (nil, true, 0) }
        let nameLengths = nameLengths
        var walk = JSONMembers(objectAt: start)
        var isEmpty = true
        var present: UInt64 = 0
        while let member = walk.next(in: event) {
            isEmpty = false
            let length = member.name.count
            guard member.nameHasEscapes || length < 64 && nameLengths >> UInt64(length) & 1 == 1 else { continue }
            present |= places(of: member, in: event)
        }
        let brace = walk.closingBrace
        guard brace < event.count, event[brace] == UInt8(ascii: "}") else { return (nil, true, 0) }
        return (brace, isEmpty, present)
    }

    /// A bit for the name that a member has; kept out of the walk, whose registers it would cost.
    @inline(never)
    private func places(of member: JSONMember, in event: Span<UInt8>) -> UInt64 {
        var bits: UInt64 = 0
        for index in names.indices where member.isNamed(names[index], in: event) {
            bits |= 1 << UInt64(index)
        }
        return bits
    }

    /// The value with its closing quotation mark.
    private mutating func appendValue(
        of member: DestinationSettings.Member, _ facts: Facts, to body: inout [UInt8]
    ) {
        switch member {
        case .wasQueued: body.append("true\"")
        case .queueReason: if let gate = facts.gate { body.append(all: gates[Int(gate.rawValue)]) }
        case .connectionType: body.append(all: types[Int(facts.connectionType.rawValue)])
        case .sentConnectionType: body.append(all: types[Int(facts.sentConnectionType.rawValue)])
        case .eventID: appendID(facts, to: &body)
        case .acceptedAt: if let time = facts.acceptedAt { append(time, to: &body) }
        }
    }

    private mutating func appendID(_ facts: Facts, to body: inout [UInt8]) {
        if epoch != facts.epoch {
            epochText = EventID(epoch: facts.epoch, sequence: 0).text.dropLast()
            epoch = facts.epoch
        }
        body.append(all: epochText)
        body.append(decimal: facts.sequence)
        body.append(UInt8(ascii: "\""))
    }

    private mutating func append(_ time: WallTime, to body: inout [UInt8]) {
        let whole = time.milliseconds >= 0 ? time.milliseconds / 1_000 : (time.milliseconds - 999) / 1_000
        if second != whole {
            secondText = WallTime(milliseconds: whole * 1_000).rfc3339.dropLast(4)
            second = whole
        }
        let rest = UInt16(time.milliseconds - whole * 1_000)
        body.append(all: secondText)
        body.append(UInt8(ascii: "0") + UInt8(rest / 100))
        body.append(UInt8(ascii: "0") + UInt8(rest / 10 % 10))
        body.append(UInt8(ascii: "0") + UInt8(rest % 10))
        body.append("Z\"")
    }
}

extension Enrichment.Facts {
    /// True where the member has a value.
    fileprivate func has(_ member: DestinationSettings.Member) -> Bool {
        switch member {
        case .wasQueued, .queueReason: gate != nil
        case .acceptedAt: acceptedAt != nil
        case .connectionType, .sentConnectionType, .eventID: true
        }
    }
}

extension DestinationSettings.Member {
    /// Its name; unlike the raw value it can be compared without counting references.
    var name: StaticString {
        switch self {
        case .wasQueued: "was_queued"
        case .queueReason: "queue_reason"
        case .connectionType: "network_connection_type"
        case .sentConnectionType: "sent_connection_type"
        case .eventID: "event_id"
        case .acceptedAt: "accepted_at"
        }
    }
}
