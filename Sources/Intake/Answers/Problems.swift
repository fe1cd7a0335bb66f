internal import HTTP1
internal import Queue

/// The errors of the events socket; their types are stable.
enum Problems {
    /// What is taken, for `Accept` in a 415 and its detail.
    static let acceptedTypes =
        "application/json, application/x-ndjson, application/cloudevents+json, application/cloudevents-batch+json"

    static func notFound() -> Response {
        problem(404, "not-found", "There is nothing here", "only /v1/events, /livez and /readyz are served here")
    }

    static func methodNotAllowed(_ allowed: String) -> Response {
        problem(
            405, "method-not-allowed", "The method is not allowed", "the methods allowed here are \(allowed)",
            [("Allow", allowed)])
    }

    static func tooSlow() -> Response {
        problem(408, "too-slow", "The client was too slow", "the rest of the request did not come in time")
    }

    static func requestTooLarge(_ limits: IntakeLimits) -> Response {
        problem(
            413, "request-too-large", "The request is too large",
            "a request has at most \(limits.maximumRequestBytes) bytes and \(limits.maximumRequestEvents) events")
    }

    static func largerThanQueue(_ limits: IntakeLimits, _ log: LogName) -> Response {
        problem(
            413, "request-too-large", "The request is too large",
            "an empty queue has room for \(limits.queueRoom.bytes(of: log)) bytes of events for \(log.text) (MaxSize=)")
    }

    static func mediaType(_ what: String) -> Response {
        problem(
            415, "media-type", "The media type is not taken", "\(what); taken are: \(acceptedTypes)",
            [("Accept", acceptedTypes)])
    }

    static func expectation() -> Response {
        problem(417, "expectation", "The expectation cannot be met", "no expectation but 100-continue is understood")
    }

    static func parameter(_ what: String) -> Response {
        problem(422, "parameter", "A parameter is not understood", what)
    }

    static func idempotencyKey(_ what: String) -> Response {
        problem(422, "idempotency-key", "The Idempotency-Key cannot be used", what)
    }

    static func tooManyConnections(ofUser: Bool) -> Response {
        let status = ofUser ? 429 : 503
        return problem(
            status, "too-many-connections", "There are too many connections",
            tooManyConnectionsDetail(ofUser: ofUser), [("Retry-After", "\(tooManyConnectionsRetryAfterSeconds)")])
    }

    static let tooManyConnectionsRetryAfterSeconds = 5

    static func tooManyConnectionsDetail(ofUser: Bool) -> String {
        ofUser ? "this user has as many connections as it may" : "there are as many connections as there may be"
    }

    static func refused(_ refusal: Refusal) -> Response {
        let (status, type, title) =
            switch refusal.reason {
            case .full: (503, "queue-full", "The queue is full")
            case .diskSlow: (503, "disk-slow", "The disk is slow")
            case .diskError: (503, "disk-error", "The disk fails")
            case .stopping: (503, "stopping", "The daemon is stopping")
            case .busy: (503, "busy", "Too much is unfinished")
            case .denied: (403, "consent-denied", "Consent is denied")
            case .purging: (503, "purging", "The category is being purged")
            case .tooManyCategories: (422, "too-many-categories", "There are too many consent categories")
            }
        let again = refusal.retryAfterSeconds
        return problem(status, type, title, refusal.detail, again > 0 ? [("Retry-After", "\(again)")] : [])
    }

    /// The problem of a body.
    static func body(_ error: BodyError, _ limits: IntakeLimits) -> Response {
        let (status, type, title): (Int, String, String) =
            switch error.kind {
            case .notJSON: (400, "not-json", "The body is not JSON")
            case .notAnObject: (400, "not-an-object", "An event is a JSON object")
            case .attribute: (422, "cloudevents-attribute", "A required attribute is missing or wrong")
            case .eventTooLarge: (413, "event-too-large", "An event is too large")
            case .tooManyEvents: (413, "request-too-large", "The request is too large")
            case .mediaType: (415, "media-type", "The media type is not taken")
            }
        if error.kind == .mediaType { return mediaType(error.detail) }
        var numbers: [(name: String, value: Int)] = []
        switch error.place {
        case .none: break
        case .index(let index): numbers.append(("index", index))
        case .line(let line): numbers.append(("line", line))
        }
        numbers.append(("offset", error.offset))
        return ProblemDetails(status: status, type: type, title: title, detail: error.detail, numbers: numbers)
            .response()
    }

    private static func problem(
        _ status: Int, _ type: String, _ title: String, _ detail: String,
        _ fields: [(name: String, value: String)] = []
    ) -> Response {
        ProblemDetails(status: status, type: type, title: title, detail: detail).response(fields: fields)
    }
}
