internal import Bytes
internal import HTTP1
internal import Queue
internal import Time

/// Why a query is refused: a sentence for the client, without a full stop.
struct ParameterError: Error {
    let detail: String
}

/// What the query of a `POST /v1/events` asks for all events of the request.
struct EventParameters {
    private(set) var log = LogName.normal
    /// 0: none.
    private(set) var timeToLiveSeconds: UInt32 = 0

    init(_ head: RequestHead) throws(ParameterError) {
        guard let parameters = head.queryParameters() else {
            throw ParameterError(detail: "the query is not percent-encoded UTF-8")
        }
        var seen: Set<String> = []
        var category: String?
        for (name, value) in parameters {
            guard seen.insert(name).inserted else { throw ParameterError(detail: "\(name) stands there twice") }
            switch name {
            case "lane":
                guard let lane = LogName.lanes.first(where: { $0.text == value }) else {
                    throw ParameterError(detail: "lane is one of urgent, normal, bulk")
                }
                log = lane
            case "ttl": timeToLiveSeconds = try Self.seconds(value)
            case "consent":
                guard value.isShortName else {
                    throw ParameterError(detail: "consent is a category, 1 to 32 of a-z, 0-9 and -")
                }
                category = value
            default: throw ParameterError(detail: "the parameter \(name) is not known")
            }
        }
        guard let category else { return }
        guard !seen.contains("lane") else {
            throw ParameterError(detail: "lane and consent exclude each other: a category has a log of its own")
        }
        log = .consent(category)
    }

    /// Whole seconds, rounded up, so that nothing expires early.
    private static func seconds(_ text: String) throws(ParameterError) -> UInt32 {
        guard let span = try? Duration(span: text), span > .zero else {
            throw ParameterError(detail: "ttl is a span of time above zero, such as 30s, 5min or 7d")
        }
        let (whole, rest) = span.components
        guard let seconds = UInt32(exactly: rest > 0 ? whole + 1 : whole) else {
            throw ParameterError(detail: "ttl is at most \(UInt32.max) s")
        }
        return seconds
    }
}
