import Bytes
import Posix
import Testing

/// A client that sends bytes as they are and reads what comes, giving up after 5 s.
struct RawClient: ~Copyable {
    private let socket: FileDescriptor

    init(_ path: String) throws { socket = try Socket.connectUnix(path) }

    func send(_ text: String) throws { try send(Array(text.utf8)) }

    func send(_ bytes: [UInt8]) throws {
        var sent = 0
        while sent < bytes.count {
            switch try socket.send(bytes, in: sent..<bytes.count) {
            case .bytes(let count): sent += count
            case .wouldBlock: _ = try socket.waitWritable(milliseconds: 1_000)
            }
        }
    }

    func endInput() throws { try socket.shutdownWrite() }

    /// All that comes until the end of the stream.
    func readToEnd() throws -> String { try read { _ in false } }

    /// What comes until it contains `text`.
    func read(until text: String) throws -> String { try read { $0.text.contains(text) } }

    private func read(_ isEnough: ([UInt8]) -> Bool) throws -> String {
        var bytes: [UInt8] = []
        while !isEnough(bytes) {
            guard try socket.waitReadable(milliseconds: 5_000) else {
                Issue.record("nothing came after: \(bytes.text)")
                break
            }
            do throws(Errno) {
                guard case .bytes(let count) = try socket.receive(upTo: 65_536, into: &bytes) else { continue }
                if count == 0 { break }
            } catch {
                guard error == .connectionReset else { throw error }
                break
            }
        }
        return bytes.text
    }
}
