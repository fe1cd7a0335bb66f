internal import HTTP1
internal import HTTPServer
internal import JSON

/// What the control socket offers.
enum ControlRoute: Equatable {
    case status
    /// Each change as it comes.
    case watch
    case metrics
    case live
    case ready
    case reload
    case flush(destination: String)
    case order(destination: String, OperatorOrder.ToDestination)
    /// What each log holds.
    case logs
    /// One event that is kept.
    case event(id: String)
    /// Dead letters, or those of one event.
    case letters(id: String?)
    case retry
    case drop
    case consent(category: String)
    case purge

    /// The route of a path; nil where there is none.
    init?(path: String) {
        switch path {
        case "/v1/status": self = .status
        case "/v1/watch": self = .watch
        case "/metrics": self = .metrics
        case "/livez": self = .live
        case "/readyz": self = .ready
        case "/v1/reload": self = .reload
        case "/v1/queue": self = .logs
        case "/v1/dead": self = .letters(id: nil)
        case "/v1/dead/retry": self = .retry
        case "/v1/dead/drop": self = .drop
        case "/v1/purge": self = .purge
        default:
            let parts = path.split(separator: "/", omittingEmptySubsequences: false)
            guard parts.count >= 4, parts[0].isEmpty, parts[1] == "v1", !parts[3].isEmpty else { return nil }
            switch (parts[2], parts.count) {
            case ("consent", 4): self = .consent(category: String(parts[3]))
            case ("queue", 4): self = .event(id: String(parts[3]))
            case ("dead", 4): self = .letters(id: String(parts[3]))
            case ("destinations", 5) where parts[4] == "flush": self = .flush(destination: String(parts[3]))
            case ("destinations", 5):
                guard let order = OperatorOrder.ToDestination(rawValue: String(parts[4])) else { return nil }
                self = .order(destination: String(parts[3]), order)
            default: return nil
            }
        }
    }

    /// The methods it takes.
    var methods: [String] {
        switch self {
        case .status, .metrics, .live, .ready, .logs, .event, .letters: ["GET", "HEAD"]
        case .watch: ["GET"]
        case .reload, .flush, .order, .retry, .drop, .purge: ["POST"]
        case .consent: ["PUT"]
        }
    }

    /// Answers a request; a reload is answered when the verdict is there.
    static func answer(_ exchange: HTTPExchange, from delegate: any ControlDelegate) {
        guard let route = ControlRoute(path: exchange.head.path) else {
            return exchange.answer(exchange.head.path == "/v1/events" ? eventsElsewhere : notFound)
        }
        guard route.methods.contains(exchange.head.method) else {
            return exchange.answer(notAllowed(route.methods))
        }
        switch route {
        case .status: delegate.status { exchange.answer(.json(200, $0.json)) }
        case .watch:
            guard delegate.watch({ exchange.answerStream(contentType: "application/x-ndjson") }) else {
                return exchange.answer(tooManyWatch)
            }
        case .metrics:
            delegate.status { report in
                exchange.answer(
                    Response(
                        status: 200, contentType: "text/plain; version=0.0.4; charset=utf-8", body: report.metrics))
            }
        case .live: exchange.answer(health(delegate.isAlive, "not-alive", "a thread makes no progress"))
        case .ready: exchange.answer(health(delegate.isReady, "not-ready", "urgent events are not taken"))
        case .reload: delegate.reload { verdict in exchange.answer(verdict.response) }
        case .flush(let name):
            guard delegate.flush(destination: name) else { return exchange.answer(unknownDestination) }
            var writer = JSONWriter()
            writer.beginObject()
            writer.member("destination", name)
            writer.endObject()
            exchange.answer(.json(202, writer.bytes))
        case .order, .logs, .event, .letters, .retry, .drop, .consent, .purge: carryOut(route, exchange, delegate)
        }
    }

    private static func carryOut(_ route: ControlRoute, _ exchange: HTTPExchange, _ delegate: any ControlDelegate) {
        do throws(OrderError) {
            let order: OperatorOrder? =
                switch route {
                case .order(let destination, let word): try .to(destination, word, exchange)
                case .logs: .logs
                case .event(let id): .event(id: id)
                case .letters(let id): try .letters(exchange, id: id)
                case .retry: .retry(try OperatorOrder.selection(exchange))
                case .drop: .drop(try OperatorOrder.selection(exchange))
                case .consent(let category): try .consent(category, exchange)
                case .purge: try .purge(exchange)
                default: nil
                }
            guard let order else { return exchange.answer(notFound) }
            delegate.carryOut(order) { exchange.answer($0.response) }
        } catch {
            exchange.answer(
                ProblemDetails(status: 422, type: "bad-order", title: "Not understood", detail: error.detail)
                    .response())
        }
    }

    /// The answer of a daemon that is already gone.
    static let stopping = ProblemDetails(
        status: 503, type: "stopping", title: "The daemon is stopping", detail: "ask again once it is back"
    ).response()

    private static let notFound = ProblemDetails(
        status: 404, type: "not-found", title: "Not found", detail: "nothing is offered at this path"
    ).response()

    private static let tooManyWatch = ProblemDetails(
        status: 503, type: "too-many-watch", title: "Too many watch", detail: "end one of those that watch"
    ).response(fields: [("Retry-After", "1")])

    private static let eventsElsewhere = ProblemDetails(
        status: 404, type: "not-found", title: "Not found",
        detail: "this is the control socket; events go to the events socket"
    ).response()

    private static let unknownDestination = ProblemDetails(
        status: 404, type: "unknown-destination", title: "No such destination",
        detail: "no destination has that name"
    ).response()

    private static func notAllowed(_ methods: [String]) -> Response {
        let allowed = methods.joined(separator: ", ")
        return ProblemDetails(
            status: 405, type: "method-not-allowed", title: "Method not allowed", detail: "this path takes \(allowed)"
        ).response(fields: [("Allow", allowed)])
    }

    private static func health(_ isWell: Bool, _ type: String, _ detail: String) -> Response {
        guard !isWell else { return Response(status: 200, contentType: "text/plain", body: Array("ok\n".utf8)) }
        return ProblemDetails(status: 503, type: type, title: "Not well", detail: detail).response()
    }
}
