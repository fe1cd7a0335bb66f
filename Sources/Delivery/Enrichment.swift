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

    private let members: [DestinationSettings.Member]
    /// What each of them is called.
    private let names: [StaticString]
    /// A bit for each length that one of the names has; all are shorter than 64 bytes.
    private let nameLengths: UInt64
    /// `"was_queued":"true"`.
    private let wasQueued: [UInt8]
    /// `"queue_reason":"…"`, by the gate's raw value.
    private let reasons: [[UInt8]]
    /// `"network_connection_type":"…"`, by the type's raw value.
    private let types: [[UInt8]]
    private let sentTypes: [[UInt8]]
    /// `"event_id":"`, and the same with `<epoch>-` of the epoch last seen.
    private let idBeginning: [UInt8]
    private var idPrefix: [UInt8] = []
    private var idEpoch: UInt64?
    /// `"accepted_at":"`, and the same up to the whole second last seen.
    private let timeBeginning: [UInt8]
    private var timePrefix: [UInt8] = []
    private var timeSecond: Int64?

    /// Adds these members, in this order, under the names that they have; without a name one is left out.
    init(
        _ members: [DestinationSettings.Member],
        named name: (DestinationSettings.Member) -> StaticString? = { $0.name }
    ) {
        func beginning(_ member: DestinationSettings.Member) -> [UInt8] {
            name(member).map { Array("\"\($0)\":\"".utf8) } ?? []
        }
        func fragments(_ member: DestinationSettings.Member, _ values: [(index: Int, name: String)]) -> [[UInt8]] {
            var fragments = [[UInt8]](repeating: [], count: (values.map(\.index).max() ?? -1) + 1)
            for value in values { fragments[value.index] = beginning(member) + Array((value.name + "\"").utf8) }
            return fragments
        }
        self.members = members.filter { name($0) != nil }
        names = members.compactMap(name)
        nameLengths = names.reduce(0) { $0 | 1 << UInt64($1.utf8CodeUnitCount) }
        wasQueued = beginning(.wasQueued) + Array("true\"".utf8)
        reasons = fragments(.queueReason, Gate.allCases.map { (Int($0.rawValue), $0.name) })
        let typeNames = ConnectionType.allCases.map { (Int($0.rawValue), $0.name) }
        types = fragments(.connectionType, typeNames)
        sentTypes = fragments(.sentConnectionType, typeNames)
        idBeginning = beginning(.eventID)
        timeBeginning = beginning(.acceptedAt)
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
            append(members[index], facts, to: &body)
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

    private mutating func append(_ member: DestinationSettings.Member, _ facts: Facts, to body: inout [UInt8]) {
        switch member {
        case .wasQueued: body.append(all: wasQueued)
        case .queueReason: if let gate = facts.gate { body.append(all: reasons[Int(gate.rawValue)]) }
        case .connectionType: body.append(all: types[Int(facts.connectionType.rawValue)])
        case .sentConnectionType: body.append(all: sentTypes[Int(facts.sentConnectionType.rawValue)])
        case .eventID: appendID(facts, to: &body)
        case .acceptedAt: if let time = facts.acceptedAt { append(time, to: &body) }
        }
    }

    private mutating func appendID(_ facts: Facts, to body: inout [UInt8]) {
        if idEpoch != facts.epoch {
            idPrefix = idBeginning + EventID(epoch: facts.epoch, sequence: 0).text.dropLast()
            idEpoch = facts.epoch
        }
        body.append(all: idPrefix)
        body.append(decimal: facts.sequence)
        body.append(UInt8(ascii: "\""))
    }

    private mutating func append(_ time: WallTime, to body: inout [UInt8]) {
        let second = time.milliseconds >= 0 ? time.milliseconds / 1_000 : (time.milliseconds - 999) / 1_000
        if timeSecond != second {
            timePrefix = timeBeginning + WallTime(milliseconds: second * 1_000).rfc3339.dropLast(4)
            timeSecond = second
        }
        let rest = UInt16(time.milliseconds - second * 1_000)
        body.append(all: timePrefix)
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
