internal import Bytes
internal import Posix
internal import Reactor

extension Command {
    static let collector = Command(
        name: "collector", operand: nil,
        options: [
            CommandOption(name: "--listen", value: "HOST:PORT", summary: "an IPv4 address; 127.0.0.1:8080 without it")
        ],
        socket: nil,
        summary: "print what a daemon delivers here",
        details: """
            Takes what a daemon delivers, plain or gzip, as an array, an object, or an
            object a line, and prints each event on a line. Port 0 is any free one.
            Ctrl-C ends it.
            """
    ) { invocation, console in
        let place = invocation.options["--listen"] ?? "127.0.0.1:8080"
        guard let (address, port) = listenAddress(place) else {
            console.complain("--listen: '\(place)' is not HOST:PORT with an IPv4 address")
            return .usage
        }
        do throws(Errno) {
            let signals = try SignalSource([.interrupt, .terminate])
            let loop = try EventLoop()
            let socket = try Socket.listenTCP(address: address, port: port)
            let port = try Socket.localPort(socket)
            let collector = try Collector(taking: socket, on: loop) { line in
                console.write(line)
                if console.outputFailure != nil { loop.stop() }
            }
            let stopper = LoopStopper(loop)
            let registration = try loop.register(signals.descriptor.number, .readable, handler: stopper)
            let host = IPAddress((0..<4).map { UInt8(truncatingIfNeeded: address >> (24 - 8 * $0)) })?.description
            console.explain("collector: http://\(host ?? place):\(port)/ (Ctrl-C ends it)\n")
            try loop.run()
            loop.deregister(registration)
            console.explain("collector: \(collector.received) events\n")
            return .success
        } catch {
            console.complain("\(place): \(error)")
            return error == .access ? .notAllowed : .failed
        }
    }

    /// The address, in host byte order, and the port of `HOST:PORT`; nil for anything else.
    static func listenAddress(_ text: String) -> (address: UInt32, port: UInt16)? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[1].isEmpty, parts[1].utf8.allSatisfy({ (48...57).contains($0) }),
            let port = UInt16(parts[1])
        else { return nil }
        let host = parts[0] == "localhost" ? "127.0.0.1" : String(parts[0])
        guard let address = IPAddress(text: host), !address.isIPv6 else { return nil }
        return (address.bytes.reduce(0) { $0 << 8 | UInt32($1) }, port)
    }
}

/// Ends a loop when its descriptor is ready.
private final class LoopStopper: ReadyHandler {
    private let loop: EventLoop

    init(_ loop: EventLoop) { self.loop = loop }

    func ready(_ readiness: Readiness, registration: EventLoop.Registration) { loop.stop() }
}
