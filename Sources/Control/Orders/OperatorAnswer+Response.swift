internal import Bytes
internal import HTTP1
internal import JSON
internal import Time

extension OperatorAnswer {
    /// 200 with `{}`, a count or dead letters; or the problem.
    var response: Response {
        var writer = JSONWriter()
        writer.beginObject()
        switch self {
        case .done: break
        case .count(let count): writer.member("count", count)
        case .purged(let count): writer.member("purged", count)
        case .consent(let state, let count):
            writer.member("state", state.rawValue)
            writer.member("purged", count)
        case .logs(let logs):
            writer.name("logs")
            writer.beginObject()
            for log in logs { log.write(to: &writer) }
            writer.endObject()
        case .event(let event):
            event.writePlace(to: &writer)
            writer.member("log", event.log)
            writer.name("destinations")
            writer.beginArray()
            for name in event.destinations { writer.string(name) }
            writer.endArray()
            writer.name("event")
            writer.raw(event.event)
        case .letters(let letters, let next, let withEvents):
            writer.name("dead")
            writer.beginArray()
            for letter in letters { letter.write(to: &writer, withEvent: withEvents) }
            writer.endArray()
            if let next { writer.member("next", next) }
        case .document(let json): return .json(200, json)
        case .unknown(let detail):
            return ProblemDetails(status: 404, type: "unknown", title: "There is none", detail: detail).response()
        case .conflict(let detail):
            return ProblemDetails(status: 409, type: "conflict", title: "Not as things are", detail: detail).response()
        case .unpurged(let detail):
            let title = "Denied, and not purged yet"
            return ProblemDetails(status: 503, type: "unpurged", title: title, detail: detail).response()
        case .failed(let detail):
            let title = "Not done, or not durably"
            return ProblemDetails(status: 503, type: "failed", title: title, detail: detail).response()
        }
        writer.endObject()
        return .json(200, writer.bytes)
    }
}

extension LogReport {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.name(name)
        writer.beginObject()
        writer.member("events", events)
        writer.member("bytes", bytes)
        writer.name("oldest")
        if let oldest {
            writer.beginObject()
            oldest.writePlace(to: &writer)
            writer.endObject()
        } else {
            writer.null()
        }
        writer.endObject()
    }
}

extension EventReport {
    /// Which it is, and since when it has been there.
    fileprivate func writePlace(to writer: inout JSONWriter) {
        writer.member("id", id)
        writer.member("accepted_at", acceptedAt.map { $0.rfc3339.text })
        writer.member("age_s", Double(age.milliseconds) / 1_000)
    }
}

extension DeadLetterReport {
    fileprivate func write(to writer: inout JSONWriter, withEvent: Bool) {
        writer.beginObject()
        writer.member("id", id)
        writer.member("destination", destination)
        writer.member("status", status)
        writer.member("detail", detail)
        writer.member("attempts", attempts)
        writer.member("at", at.rfc3339.text)
        writer.member("log", log)
        writer.member("retried", isRetried)
        if withEvent {
            writer.member("accepted_at", acceptedAt.map { $0.rfc3339.text })
            writer.name("event")
            writer.raw(event)
        }
        writer.endObject()
    }
}
