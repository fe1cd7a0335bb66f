internal import HTTP1
internal import JSON

extension ReloadVerdict {
    /// 200 with `changed`, `needs_restart` and `warnings`, or 422 with `errors`; each a list of texts.
    var response: Response {
        var writer = JSONWriter()
        writer.beginObject()
        switch self {
        case .taken(let changed, let needsRestart, let warnings):
            writer.member("changed", changed)
            writer.member("needs_restart", needsRestart)
            writer.member("warnings", warnings)
            writer.endObject()
            return .json(200, writer.bytes)
        case .refused(let errors):
            writer.member("type", "urn:uplinkd:problem:bad-configuration")
            writer.member("title", "The configuration has errors")
            writer.member("status", 422)
            writer.member("detail", "the old configuration stays in force")
            writer.member("errors", errors)
            writer.endObject()
            return Response(status: 422, contentType: ProblemDetails.mediaType, body: writer.bytes)
        }
    }
}

extension JSONWriter {
    fileprivate mutating func member(_ name: String, _ texts: [String]) {
        self.name(name)
        beginArray()
        for text in texts { string(text) }
        endArray()
    }
}
