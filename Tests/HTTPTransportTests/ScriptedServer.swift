import Bytes
import Posix
import Reactor

/// A request as a server got it.
struct ReceivedRequest {
    let method: String
    let path: String
    /// Names in lower case.
    let fields: [String: String]
    let body: [UInt8]
    let connection: StreamConnection
}

/// A server on the loop that gives each whole request to a script.
final class ScriptedServer: StreamConnectionDelegate {
    let port: UInt16
    /// Called with each request; writes what it likes to its connection.
    var script: (ReceivedRequest) -> Void
    /// Called with each new connection.
    var greet: (StreamConnection) -> Void = { _ in }
    private(set) var requests: [ReceivedRequest] = []
    private(set) var connectionCount = 0
    private(set) var open: [UInt64: StreamConnection] = [:]
    private var listener: StreamListener?

    /// Listens on a port of 127.0.0.1, or at the path of a Unix socket.
    init(on loop: EventLoop, path: String? = nil, _ script: @escaping (ReceivedRequest) -> Void) throws {
        self.script = script
        let socket = try path.map { try Socket.listenUnix($0) } ?? Socket.listenTCP(address: 0x7F00_0001, port: 0)
        port = path == nil ? try Socket.localPort(socket) : 0
        listener = try StreamListener(taking: socket, on: loop) { [weak self] socket in
            self?.accept(socket, on: loop)
        }
    }

    /// Accepts no more and closes what is open.
    func stop() {
        listener?.stop()
        listener = nil
        for connection in open.values { connection.close() }
    }

    private func accept(_ socket: consuming FileDescriptor, on loop: EventLoop) {
        connectionCount += 1
        guard
            let connection = try? StreamConnection(taking: socket, number: UInt64(connectionCount), on: loop)
        else { return }
        connection.delegate = self
        open[connection.number] = connection
        greet(connection)
    }

    func received(on connection: StreamConnection) {
        while let (request, count) = Self.parse(connection) {
            connection.consumeInput(count)
            requests.append(request)
            script(request)
            guard connection.isOpen else { return }
        }
    }

    func inputEnded(on connection: StreamConnection) { connection.close() }
    func closed(_ connection: StreamConnection) { open[connection.number] = nil }

    private static func parse(_ connection: StreamConnection) -> (ReceivedRequest, Int)? {
        let input = connection.input[connection.inputStart...]
        let end: [UInt8] = [13, 10, 13, 10]
        guard
            let headEnd = input.indices.prefix(8_192).first(where: { input[$0...].prefix(4).elementsEqual(end) })
        else { return nil }
        let lines = Array(input[..<headEnd]).text.split(separator: "\r\n")
        var fields: [String: String] = [:]
        for line in lines.dropFirst() {
            let halves = line.split(separator: ":", maxSplits: 1).map { String($0) }
            fields[halves[0].lowercased()] = String(halves[1].drop { $0 == " " })
        }
        let bodyStart = headEnd + 4
        let bodyCount = fields["content-length"].flatMap { Int($0) } ?? 0
        guard input.endIndex - bodyStart >= bodyCount else { return nil }
        let words = lines[0].split(separator: " ")
        let request = ReceivedRequest(
            method: String(words[0]), path: String(words[1]), fields: fields,
            body: Array(input[bodyStart..<bodyStart + bodyCount]), connection: connection)
        return (request, bodyStart + bodyCount - input.startIndex)
    }
}

extension StreamConnection {
    /// Sends text.
    func write(_ text: String) { write(Array(text.utf8)) }

    /// Sends an answer with a body.
    func answer(_ status: Int, _ fields: String = "", body: String = "") {
        write("HTTP/1.1 \(status) Said\r\n\(fields)Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
    }
}
