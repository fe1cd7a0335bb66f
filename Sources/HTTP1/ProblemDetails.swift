internal import Bytes
internal import JSON

/// The body of an error (RFC 9457, `application/problem+json`).
package struct ProblemDetails: Sendable {
    /// The media type of the body.
    package static let mediaType = "application/problem+json"

    package let status: Int
    /// The last part of the type's URI reference, stable: `event-too-large`.
    package let type: String
    /// The same for every problem of the type.
    package let title: String
    /// What happened this time.
    package let detail: String
    /// Members besides, in order: whole numbers.
    package let numbers: [(name: String, value: Int)]

    package init(
        status: Int, type: String, title: String, detail: String, numbers: [(name: String, value: Int)] = []
    ) {
        self.status = status
        self.type = type
        self.title = title
        self.detail = detail
        self.numbers = numbers
    }

    /// The problem of a message that the parser refused.
    package init(_ error: HTTPError) {
        let type =
            switch error {
            case .malformed: ("malformed-request", "The request is not HTTP/1.1")
            case .headTooLarge: ("head-too-large", "The head of the request is too large")
            case .unsupportedTransferCoding: ("transfer-coding", "The transfer coding is not supported")
            case .unsupportedVersion: ("http-version", "The HTTP version is not supported")
            case .bodyTooLarge: ("request-too-large", "The request is too large")
            }
        self.init(status: error.status, type: type.0, title: type.1, detail: error.detail)
    }

    /// Its JSON text, with a line feed at its end.
    package var body: [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("type", "urn:uplinkd:problem:" + type)
        writer.member("title", title)
        writer.member("status", status)
        writer.member("detail", detail)
        for number in numbers { writer.member(number.name, number.value) }
        writer.endObject()
        return writer.bytes + [0x0A]
    }

    /// The answer, with further fields.
    package func response(fields: [(name: String, value: String)] = []) -> Response {
        Response(status: status, contentType: Self.mediaType, fields: fields, body: body)
    }
}
