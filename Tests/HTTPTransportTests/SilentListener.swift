import Glibc
import Posix

/// A listening TCP socket whose queue is full: whoever connects hears nothing.
struct SilentListener {
    let port: UInt16
    private let held: [Held]

    var url: String { "http://127.0.0.1:\(port)/" }

    private final class Held {
        let socket: FileDescriptor
        init(_ socket: consuming FileDescriptor) { self.socket = socket }
    }

    /// `address` in host byte order, port 0 for any.
    init(address: UInt32 = 0x7F00_0001, port: UInt16 = 0) throws(Errno) {
        let listener = Held(try Socket.listenTCP(address: address, port: port))
        listen(listener.socket.number, 0)
        self.port = try Socket.localPort(listener.socket)
        var held = [listener]
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_addr.s_addr = address.bigEndian
        name.sin_port = self.port.bigEndian
        for _ in 0..<3 {
            let filler = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
            held.append(Held(FileDescriptor(taking: filler)))
            withUnsafePointer(to: &name) { raw in
                raw.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                    _ = connect(filler, pointer, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
        }
        self.held = held
    }
}
