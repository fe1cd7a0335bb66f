internal import HTTP1
internal import HTTPServer
internal import JSON
package import Posix
package import Reactor

/// A small collector to try deliveries with: takes any JSON by POST or PUT, and gives each event to `emit` as a line
/// that does nothing to a terminal.
package final class Collector {
    private static let bodyLimit = 16 << 20
    private static let decompressedLimit = 64 << 20

    /// Events taken so far.
    package private(set) var received: UInt64 = 0

    private let emit: ([UInt8]) -> Void
    private var server: HTTPServer?

    /// Takes over a listening socket.
    package init(
        taking socket: consuming FileDescriptor, on loop: EventLoop, emit: @escaping ([UInt8]) -> Void
    ) throws(Errno) {
        self.emit = emit
        var limits = HTTPServerLimits()
        limits.connections = 64
        limits.bodyBytes = Self.bodyLimit
        limits.requestTime = .seconds(60)
        limits.idleTime = .seconds(60)
        let server = HTTPServer(on: loop, limits: limits) { [weak self] exchange in
            guard let self else { return }
            exchange.answer(self.answer(exchange.head, exchange.body))
        }
        try server.listen(taking: socket)
        self.server = server
    }

    private func answer(_ head: RequestHead, _ body: [UInt8]) -> Response {
        switch head.method {
        case "GET", "HEAD": return receipt
        case "POST", "PUT": break
        default:
            return problem(405, "method-not-allowed", "post events here", fields: [("Allow", "GET, HEAD, POST, PUT")])
        }
        do throws(CollectorError) {
            for line in try Self.lines(head, body) {
                emit(printableJSON(line))
                received += 1
            }
            return receipt
        } catch {
            switch error {
            case .unknownEncoding:
                return problem(415, "encoding", "only gzip is understood", fields: [("Accept-Encoding", "gzip")])
            case .notGzip: return problem(400, "not-gzip", "the body is not gzip")
            case .tooLarge:
                return problem(413, "request-too-large", "more than \(Self.decompressedLimit) bytes decompressed")
            case .notJSON(let error): return problem(400, "not-json", "\(error.detail), at byte \(error.offset)")
            }
        }
    }

    private static func lines(_ head: RequestHead, _ body: [UInt8]) throws(CollectorError) -> [[UInt8]] {
        var body = body
        let encodings = head.fields.values("content-encoding")
        if head.fields.list("content-encoding", has: "gzip"), encodings.count == 1 {
            do throws(GzipError) {
                body = try Gzip.decompress(body, limit: decompressedLimit)
            } catch {
                throw error == .tooLarge ? .tooLarge : .notGzip
            }
        } else if !encodings.isEmpty, !head.fields.list("content-encoding", has: "identity") {
            throw .unknownEncoding
        }
        do throws(JSONError) {
            return try EventLines.of(body)
        } catch {
            throw .notJSON(error)
        }
    }

    private var receipt: Response {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("received", received)
        writer.endObject()
        return .json(200, writer.bytes)
    }

    private func problem(
        _ status: Int, _ type: String, _ detail: String, fields: [(name: String, value: String)] = []
    ) -> Response {
        ProblemDetails(status: status, type: type, title: "Not taken", detail: detail).response(fields: fields)
    }
}

private enum CollectorError: Error {
    case unknownEncoding
    case notGzip
    case tooLarge
    case notJSON(JSONError)
}
