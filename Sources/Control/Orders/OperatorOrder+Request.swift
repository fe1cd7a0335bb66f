internal import Bytes
internal import HTTP1
internal import HTTPServer
internal import JSON
internal import Time

/// Why an order cannot be understood; a sentence without a full stop.
struct OrderError: Error {
    let detail: String
}

extension OperatorOrder {
    /// What can be ordered of a destination; raw values are the last parts of the paths.
    enum ToDestination: String {
        case pause, resume, probe, forget, rename
    }

    /// The order to a destination that a request makes.
    static func to(
        _ destination: String, _ order: ToDestination, _ exchange: HTTPExchange
    ) throws(OrderError) -> OperatorOrder {
        switch order {
        case .pause:
            let text = try string("for", of: try body(exchange, ["for"]))
            guard let text else { return .pause(destination: destination, for: nil) }
            guard let span = try? Duration(span: text), span > .zero, span <= .seconds(366 * 86_400) else {
                throw OrderError(detail: "for is no duration of up to a year: \(text)")
            }
            return .pause(destination: destination, for: span)
        case .resume:
            _ = try body(exchange, [])
            return .resume(destination: destination)
        case .probe:
            _ = try body(exchange, [])
            return .probe(destination: destination)
        case .forget:
            _ = try body(exchange, [])
            return .forget(destination: destination)
        case .rename:
            guard let name = try string("to", of: try body(exchange, ["to"])), name.isShortName else {
                throw OrderError(detail: "to is to name a destination: 1 to 32 of a-z, 0-9 and -")
            }
            return .rename(destination: destination, to: name)
        }
    }

    /// The state that a request sets for a category: `{"state":"hold"}`.
    static func consent(_ category: String, _ exchange: HTTPExchange) throws(OrderError) -> OperatorOrder {
        guard category.isShortName else { throw OrderError(detail: "a category has 1 to 32 of a-z, 0-9 and -") }
        guard let text = try string("state", of: try body(exchange, ["state"])), let state = ConsentWord(rawValue: text)
        else { throw OrderError(detail: "state is one of allow, hold, deny") }
        return .consent(category: category, state)
    }

    /// What to purge: `{"consent":"ads"}` or `{"id":"…"}`.
    static func purge(_ exchange: HTTPExchange) throws(OrderError) -> OperatorOrder {
        let body = try body(exchange, ["consent", "id"])
        switch (try string("consent", of: body), try string("id", of: body)) {
        case (let category?, nil):
            guard category.isShortName else { throw OrderError(detail: "a category has 1 to 32 of a-z, 0-9 and -") }
            return .purge(category: category)
        case (nil, let id?): return .purgeEvent(id: id)
        default: throw OrderError(detail: "either consent, a category, or id, an event's")
        }
    }

    /// Which dead letters to show: query parameters `destination` and `after`.
    static func letters(_ exchange: HTTPExchange, id: String?) throws(OrderError) -> OperatorOrder {
        guard let parameters = exchange.head.queryParameters() else {
            throw OrderError(detail: "the query is not percent-encoded UTF-8")
        }
        let known = ["destination", "after"]
        if let other = parameters.first(where: { !known.contains($0.name) }) {
            throw OrderError(detail: "unknown parameter: \(other.name)")
        }
        func value(_ name: String) -> String? { parameters.last { $0.name == name }?.value }
        return .letters(destination: value("destination"), id: id, after: value("after"))
    }

    /// Which dead letters a body selects: `{"ids":[…]}` or `{"all":true}`, and `"destination"`.
    static func selection(_ exchange: HTTPExchange) throws(OrderError) -> LetterSelection {
        let body = try body(exchange, ["ids", "all", "destination"])
        let ids = body?["ids"]?.array?.compactMap { $0.string }
        guard body?["ids"] == nil || ids != nil, ids?.count == body?["ids"]?.array?.count else {
            throw OrderError(detail: "ids is no list of event ids")
        }
        guard [nil, .boolean(true), .boolean(false)].contains(body?["all"]) else {
            throw OrderError(detail: "all is neither true nor false")
        }
        guard (ids != nil) != (body?["all"] == .boolean(true)) else {
            throw OrderError(detail: "either ids, a list of event ids, or all, true")
        }
        return LetterSelection(ids: ids, destination: try string("destination", of: body))
    }

    /// The body, an object of no members but these, each at most once; nil where there is none.
    ///
    /// A member that is not known would narrow the order, were it understood; of one that stands there twice others may
    /// take the first.
    private static func body(_ exchange: HTTPExchange, _ known: [String]) throws(OrderError) -> JSONValue? {
        guard !exchange.body.isEmpty else { return nil }
        guard let value = try? JSONValue(parsing: exchange.body), let members = value.members else {
            throw OrderError(detail: "the body is no JSON object")
        }
        if let other = members.first(where: { !known.contains($0.name) }) {
            throw OrderError(detail: "unknown member: \(other.name)")
        }
        if let twice = known.first(where: { name in members.count { $0.name == name } > 1 }) {
            throw OrderError(detail: "\(twice) stands there twice")
        }
        return value
    }

    /// A member that is to be a string; nil where there is none.
    private static func string(_ name: String, of body: JSONValue?) throws(OrderError) -> String? {
        guard let value = body?[name] else { return nil }
        guard let text = value.string else { throw OrderError(detail: "\(name) is no string") }
        return text
    }
}
