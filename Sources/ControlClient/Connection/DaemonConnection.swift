internal import Bytes
internal import HTTP1
internal import Posix
internal import Time

/// An answer of the daemon.
struct Answer {
    let status: Int
    let body: [UInt8]
    /// The connection takes another request.
    let keepsAlive: Bool
    /// Seconds after which to try again (`Retry-After`).
    let retryAfterSeconds: Int?
}

/// A blocking connection to one of the daemon's sockets; each exchange has a deadline.
struct DaemonConnection: ~Copyable {
    private static let answerLimit = 16 << 20

    private let socket: FileDescriptor
    private let path: String
    private var input: [UInt8] = []

    /// Connects to the Unix socket at `path`.
    init(_ path: String) throws(ClientError) {
        self.path = path
        do throws(Errno) {
            socket = try Socket.connectUnix(path)
        } catch {
            throw ClientError(connecting: path, error)
        }
    }

    /// Sends a request and waits for its answer, at most `limit` for both.
    mutating func exchange(
        method: String, target: String, contentType: String? = nil, body: [UInt8]? = nil, within limit: Duration
    ) throws(ClientError) -> Answer {
        let deadline = Clock.now + limit
        var request: [UInt8] = []
        RequestWriter.append(
            method: method, target: target, host: "localhost", fields: contentType.map { [("Content-Type", $0)] } ?? [],
            body: body ?? (method == "POST" ? [] : nil), to: &request)
        try send(request, until: deadline)
        return try answer(try receiveHead(until: deadline), until: deadline)
    }

    /// Asks for an answer without an end and gives its lines to `take`, without their line feeds, while that is true.
    ///
    /// Returns the answer where it is an error. Only the head must come within `limit`.
    mutating func follow(
        target: String, within limit: Duration, _ take: ([UInt8]) -> Bool
    ) throws(ClientError) -> Answer? {
        let deadline = Clock.now + limit
        var request: [UInt8] = []
        RequestWriter.append(
            method: "GET", target: target, host: "localhost", fields: [], body: nil, to: &request)
        try send(request, until: deadline)
        let head = try receiveHead(until: deadline)
        guard head.status == 200 else { return try answer(head, until: deadline) }
        repeat {
            while let end = input.firstIndex(of: UInt8(ascii: "\n")) {
                let line = Array(input[..<end])
                input.dropPrefix(end + 1)
                guard take(line) else { return nil }
            }
            guard input.count <= Self.answerLimit else { throw tooLarge }
        } while try readMore(until: .distantFuture)
        return nil
    }

    /// Sends as far as the daemon takes it: one that refuses early closes, and its answer says why.
    private func send(_ request: [UInt8], until deadline: Instant) throws(ClientError) {
        var sent = 0
        while sent < request.count {
            do throws(Errno) {
                switch try socket.send(request, in: sent..<request.count) {
                case .bytes(let count): sent += count
                case .wouldBlock:
                    guard try socket.waitWritable(milliseconds: left(until: deadline)) || Clock.now < deadline else {
                        throw Errno.timedOut
                    }
                }
            } catch {
                switch error {
                case .brokenPipe, .connectionReset: return
                default: throw failure(error)
                }
            }
        }
    }

    private mutating func answer(_ head: ResponseHead, until deadline: Instant) throws(ClientError) -> Answer {
        Answer(
            status: head.status, body: try body(head.framing, until: deadline), keepsAlive: head.keepsAlive,
            retryAfterSeconds: head.fields["retry-after"].flatMap { Int($0.text) })
    }

    private mutating func receiveHead(until deadline: Instant) throws(ClientError) -> ResponseHead {
        var parser = ResponseHeadParser()
        while true {
            let parsed: (head: ResponseHead, count: Int)?
            do throws(HTTPError) {
                parsed = try parser.parse(input.span)
            } catch {
                throw .malformed(path: path, detail: error.detail)
            }
            if let (head, count) = parsed {
                input.dropPrefix(count)
                if head.status >= 200 { return head }
            } else if try !readMore(until: deadline) {
                throw .closed(path: path)
            }
        }
    }

    private mutating func body(_ framing: BodyFraming, until deadline: Instant) throws(ClientError) -> [UInt8] {
        switch framing {
        case .none: return []
        case .length(let length):
            guard length <= Self.answerLimit else { throw tooLarge }
            while input.count < length {
                guard try readMore(until: deadline) else { throw .closed(path: path) }
            }
            let body = Array(input[..<length])
            input.dropPrefix(length)
            return body
        case .untilClose:
            while try readMore(until: deadline) {
                guard input.count <= Self.answerLimit else { throw tooLarge }
            }
            defer { input = [] }
            return input
        case .chunked:
            var decoder = ChunkedDecoder(limit: Self.answerLimit)
            var body: [UInt8] = []
            while true {
                do throws(HTTPError) {
                    let taken = try decoder.decode(input.span, into: &body)
                    input.dropPrefix(taken)
                } catch {
                    throw .malformed(path: path, detail: error.detail)
                }
                if decoder.isComplete { return body }
                guard try readMore(until: deadline) else { throw .closed(path: path) }
            }
        }
    }

    private var tooLarge: ClientError { .malformed(path: path, detail: "the answer is too large") }

    /// Waits for more input; false at the end of the stream.
    private mutating func readMore(until deadline: Instant) throws(ClientError) -> Bool {
        while true {
            do throws(Errno) {
                switch try socket.receive(upTo: 65_536, into: &input) {
                case .bytes(let count): return count > 0
                case .wouldBlock:
                    guard try socket.waitReadable(milliseconds: left(until: deadline)) || Clock.now < deadline else {
                        throw Errno.timedOut
                    }
                }
            } catch {
                if error == .connectionReset { return false }
                throw failure(error)
            }
        }
    }

    private func failure(_ errno: Errno) -> ClientError {
        errno == .timedOut ? .timedOut(path: path) : .failed(path: path, errno: errno)
    }

    private func left(until deadline: Instant) -> Int32 {
        Int32(max(0, min(3_600_000, (deadline - Clock.now).milliseconds + 1)))
    }
}
