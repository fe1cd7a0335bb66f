internal import Bytes

/// An answer with a whole body.
package struct Response: Sendable {
    package let status: Int
    /// Nil where there is no body.
    package let contentType: String?
    /// Further fields: no line breaks in names or values.
    package let fields: [(name: String, value: String)]
    package let body: [UInt8]

    package init(
        status: Int, contentType: String? = nil, fields: [(name: String, value: String)] = [], body: [UInt8] = []
    ) {
        self.status = status
        self.contentType = contentType
        self.fields = fields
        self.body = body
    }

    /// An answer whose body is JSON text, with a line feed at its end: a terminal's prompt comes on a line of its own.
    package static func json(
        _ status: Int, _ body: [UInt8], fields: [(name: String, value: String)] = []
    ) -> Response {
        let lineFeed: [UInt8] = body.last == 0x0A ? [] : [0x0A]
        return Response(status: status, contentType: "application/json", fields: fields, body: body + lineFeed)
    }

    /// Its bytes; `withoutBody` for an answer to HEAD.
    package func append(to output: inout [UInt8], keepsAlive: Bool, withoutBody: Bool = false) {
        ResponseWriter.appendHead(
            status: status, contentType: contentType, fields: fields, framing: .length(body.count),
            keepsAlive: keepsAlive, to: &output)
        if !withoutBody { output += body }
    }
}

/// Writes responses.
package enum ResponseWriter {
    /// Appends a status line and fields, with the empty line.
    package static func appendHead(
        status: Int, contentType: String?, fields: [(name: String, value: String)] = [], framing: BodyFraming,
        keepsAlive: Bool, to output: inout [UInt8]
    ) {
        output.append("HTTP/1.1 ")
        output.append(decimal: status)
        output.append(" ")
        output.append(reason(status))
        output.append("\r\n")
        if let contentType { appendField("Content-Type", contentType, to: &output) }
        switch framing {
        case .none, .untilClose: break
        case .length(let count):
            output.append("Content-Length: ")
            output.append(decimal: count)
            output.append("\r\n")
        case .chunked: output.append("Transfer-Encoding: chunked\r\n")
        }
        for field in fields { appendField(field.name, field.value, to: &output) }
        if !keepsAlive { output.append("Connection: close\r\n") }
        output.append("\r\n")
    }

    /// Appends the interim answer that a client with `Expect: 100-continue` waits for.
    package static func appendContinue(to output: inout [UInt8]) { output.append("HTTP/1.1 100 Continue\r\n\r\n") }

    /// Appends a chunk, which must not be empty.
    package static func appendChunk(_ bytes: [UInt8], to output: inout [UInt8]) {
        precondition(!bytes.isEmpty)
        output.append(utf8: String(bytes.count, radix: 16))
        output.append("\r\n")
        output += bytes
        output.append("\r\n")
    }

    /// Appends the end of a chunked body.
    package static func appendLastChunk(to output: inout [UInt8]) { output.append("0\r\n\r\n") }

    static func appendField(_ name: String, _ value: String, to output: inout [UInt8]) {
        precondition(!value.utf8.contains { $0 == 0x0A || $0 == 0x0D || $0 == 0 }, "a line break in a field")
        output.append(utf8: name)
        output.append(": ")
        output.append(utf8: value)
        output.append("\r\n")
    }

    /// The reason phrase of a status.
    static func reason(_ status: Int) -> StaticString {
        switch status {
        case 200: "OK"
        case 202: "Accepted"
        case 204: "No Content"
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 408: "Request Timeout"
        case 409: "Conflict"
        case 413: "Content Too Large"
        case 415: "Unsupported Media Type"
        case 417: "Expectation Failed"
        case 422: "Unprocessable Content"
        case 429: "Too Many Requests"
        case 431: "Request Header Fields Too Large"
        case 500: "Internal Server Error"
        case 501: "Not Implemented"
        case 503: "Service Unavailable"
        case 505: "HTTP Version Not Supported"
        default: "Status"
        }
    }
}
