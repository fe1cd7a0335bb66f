internal import Bytes
internal import JSON

/// How the body of a request holds events.
enum BodyForm: UInt64 {
    /// One object, or an array of objects.
    case json
    /// The same without a label that says so; it must begin with `{` or `[`.
    case unlabelled
    /// An object a line.
    case lines
    case cloudEvent
    case cloudEventBatch

    /// The form of a media type, its parameters left out; nil for one that is not taken.
    init?(contentType: [UInt8]?) {
        guard let contentType else {
            self = .unlabelled
            return
        }
        let type = contentType.prefix { $0 != UInt8(ascii: ";") && $0 != 0x20 && $0 != 0x09 }.map(\.lowercased)
        switch String(decoding: type, as: UTF8.self) {
        case "application/json": self = .json
        case "", "application/x-www-form-urlencoded": self = .unlabelled
        case "application/x-ndjson": self = .lines
        case "application/cloudevents+json": self = .cloudEvent
        case "application/cloudevents-batch+json": self = .cloudEventBatch
        default: return nil
        }
    }
}

/// Where an event stands in a body.
struct FoundEvent: Hashable {
    /// The values of the members that name a CloudEvent, with their quotation marks.
    struct Identity: Hashable {
        let source: Range<Int>
        let id: Range<Int>
        /// Neither stands there twice, so that all who read the event read the same.
        let isCertain: Bool
    }

    let range: Range<Int>
    /// Nil for what is no CloudEvent.
    let identity: Identity?
}

/// Why a body is refused.
struct BodyError: Error, Hashable {
    enum Kind: Hashable {
        case notJSON
        case notAnObject
        /// A required attribute of a CloudEvent.
        case attribute
        case eventTooLarge
        case tooManyEvents
        case mediaType
    }

    enum Place: Hashable {
        case none
        /// The event's place in the body, from 0.
        case index(Int)
        /// From 1.
        case line(Int)
    }

    let kind: Kind
    let place: Place
    /// Bytes from the body's start.
    let offset: Int
    let detail: String
}

/// Finds and checks the events of a body.
struct EventBody {
    let form: BodyForm
    let maximumEventBytes: Int
    let maximumEvents: Int

    /// Puts where each event stands into `events`; throws at the first that is wrong.
    func find(in body: Span<UInt8>, _ events: inout [FoundEvent]) throws(BodyError) {
        if body.count >= 3, body[0] == 0xEF, body[1] == 0xBB, body[2] == 0xBF {
            throw error(JSONError(.byteOrderMark, at: 0), .index(0))
        }
        if form == .lines { return try lines(body, &events) }
        let first = JSONScanner.skipWhitespace(in: body, from: 0)
        let opening = first < body.count ? body[first] : 0
        switch (form, opening) {
        case (.json, UInt8(ascii: "[")), (.unlabelled, UInt8(ascii: "[")), (.cloudEventBatch, UInt8(ascii: "[")):
            try array(body, from: first, &events)
        case (.cloudEventBatch, UInt8(ascii: "{")):
            throw BodyError(kind: .notAnObject, place: .none, offset: first, detail: "a batch is an array of events")
        case (.unlabelled, let byte) where byte != UInt8(ascii: "{"):
            throw BodyError(
                kind: .mediaType, place: .none, offset: first,
                detail: "without a Content-Type that says JSON the body must begin with { or [")
        default:
            let end = try event(body, from: first, .index(0), &events)
            try ended(body, from: end, .index(0))
        }
    }

    private func array(_ body: Span<UInt8>, from opening: Int, _ events: inout [FoundEvent]) throws(BodyError) {
        var at = JSONScanner.skipWhitespace(in: body, from: opening + 1)
        if at < body.count, body[at] == UInt8(ascii: "]") { return try ended(body, from: at + 1, .none) }
        while true {
            let place = BodyError.Place.index(events.count)
            at = JSONScanner.skipWhitespace(in: body, from: try event(body, from: at, place, &events))
            guard at < body.count else { throw error(JSONError(.unexpectedEnd, at: at), place) }
            if body[at] == UInt8(ascii: "]") { return try ended(body, from: at + 1, .none) }
            guard body[at] == UInt8(ascii: ",") else { throw error(JSONError(.unexpectedByte, at: at), place) }
            at += 1
        }
    }

    private func lines(_ body: Span<UInt8>, _ events: inout [FoundEvent]) throws(BodyError) {
        var at = 0
        var line = 1
        while at < body.count {
            let end = body.firstIndex(of: 0x0A, from: at) ?? body.count
            let text = body.extracting(0..<end)
            if JSONScanner.skipWhitespace(in: text, from: at) < end {
                let after = try event(text, from: at, .line(line), &events)
                try ended(text, from: after, .line(line))
            }
            at = end + 1
            line += 1
        }
    }

    /// Takes one event at `start`; where it ended.
    private func event(
        _ body: Span<UInt8>, from start: Int, _ place: BodyError.Place, _ events: inout [FoundEvent]
    ) throws(BodyError) -> Int {
        let extent: JSONExtent
        do throws(JSONError) {
            extent = try JSONScanner.value(in: body, from: start)
        } catch {
            throw self.error(error, place)
        }
        guard extent.kind == .object else {
            throw BodyError(
                kind: .notAnObject, place: place, offset: extent.range.lowerBound, detail: "this is no JSON object")
        }
        guard extent.range.count <= maximumEventBytes else {
            throw BodyError(
                kind: .eventTooLarge, place: place, offset: extent.range.lowerBound,
                detail: "an event has at most \(maximumEventBytes) bytes")
        }
        guard events.count < maximumEvents else {
            throw BodyError(
                kind: .tooManyEvents, place: place, offset: extent.range.lowerBound,
                detail: "a request has at most \(maximumEvents) events")
        }
        let identity =
            form == .cloudEvent || form == .cloudEventBatch
            ? try checkAttributes(body, extent.range.lowerBound, place) : nil
        events.append(FoundEvent(range: extent.range, identity: identity))
        return extent.range.upperBound
    }

    private func ended(_ body: Span<UInt8>, from start: Int, _ place: BodyError.Place) throws(BodyError) {
        let end = JSONScanner.skipWhitespace(in: body, from: start)
        guard end == body.count else { throw error(JSONError(.trailingBytes, at: end), place) }
    }

    /// CloudEvents 1.0, "Required attributes": `id`, `source`, `type` are non-empty strings, `specversion` is 1.0.
    private func checkAttributes(
        _ body: Span<UInt8>, _ start: Int, _ place: BodyError.Place
    ) throws(BodyError) -> FoundEvent.Identity {
        var missing: [StaticString] = ["id", "source", "specversion", "type"]
        var identity = (source: 0..<0, id: 0..<0, isCertain: true)
        var members = JSONMembers(objectAt: start)
        while let member = members.next(in: body) {
            guard let found = missing.firstIndex(where: { member.isNamed($0, in: body) }) else {
                if member.isNamed("id", in: body) || member.isNamed("source", in: body) { identity.isCertain = false }
                continue
            }
            let isText = body[member.value.lowerBound] == UInt8(ascii: "\"") && member.value.count > 2
            let isVersion = found < missing.count && body.equals("\"1.0\"", in: member.value)
            let isGood = "\(missing[found])" == "specversion" ? isVersion : isText
            guard isGood else {
                throw attribute(
                    "\(missing[found])" == "specversion"
                        ? "specversion must be \"1.0\"" : "\(missing[found]) must be a string that is not empty",
                    member.value.lowerBound, place)
            }
            switch "\(missing.remove(at: found))" {
            case "id": identity.id = member.value
            case "source": identity.source = member.value
            default: break
            }
        }
        if let name = missing.first { throw attribute("\(name) is missing", start, place) }
        return FoundEvent.Identity(source: identity.source, id: identity.id, isCertain: identity.isCertain)
    }

    private func attribute(_ detail: String, _ offset: Int, _ place: BodyError.Place) -> BodyError {
        BodyError(kind: .attribute, place: place, offset: offset, detail: detail)
    }

    private func error(_ error: JSONError, _ place: BodyError.Place) -> BodyError {
        BodyError(kind: .notJSON, place: place, offset: error.offset, detail: error.detail)
    }
}
