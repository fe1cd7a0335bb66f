internal import Bytes
package import Posix

/// Who serves a `StreamConnection`.
package protocol StreamConnectionDelegate: AnyObject {
    /// `connection.input` has grown; take what can be taken with `consumeInput`.
    func received(on connection: StreamConnection)
    /// The peer will send no more; output can still be written.
    func inputEnded(on connection: StreamConnection)
    /// The connection is gone; called once, also after `close`.
    func closed(_ connection: StreamConnection)
}

/// A non-blocking stream socket on an event loop, with bounded input and output.
///
/// It reads at most `readLimit` bytes a turn, stops reading while `isReadingPaused` or while more than `outputLimit`
/// bytes wait to be sent, and never blocks.
package final class StreamConnection: ReadyHandler {
    /// What has come and was not consumed; begins at `inputStart`.
    package private(set) var input: [UInt8] = []
    /// Where the unconsumed input begins.
    package private(set) var inputStart = 0
    /// Bytes not yet taken by the kernel.
    package var outputCount: Int { output.count - outputStart }
    /// The peer's end of stream was seen.
    package private(set) var hasInputEnded = false
    /// Who serves it.
    package weak var delegate: (any StreamConnectionDelegate)?
    /// Free for the owner's use.
    package let number: UInt64

    private let loop: EventLoop
    private var socket: FileDescriptor?
    private var registration: EventLoop.Registration?
    private var interest: Readiness = []
    private var output: [UInt8] = []
    private var outputStart = 0
    private var closesAfterFlush = false
    private let readLimit: Int
    private let outputLimit: Int

    /// Takes over a connected, non-blocking socket; reading begins at once.
    package init(
        taking socket: consuming FileDescriptor, number: UInt64, on loop: EventLoop, readLimit: Int = 65_536,
        outputLimit: Int = 262_144
    ) throws(Errno) {
        self.number = number
        self.loop = loop
        self.readLimit = readLimit
        self.outputLimit = outputLimit
        let descriptor = socket.number
        self.socket = consume socket
        registration = try loop.register(descriptor, .readable, handler: self)
        interest = .readable
    }

    /// While true nothing is read, so the peer is held back by its socket buffer.
    package var isReadingPaused = false {
        didSet { if isReadingPaused != oldValue { updateInterest() } }
    }

    /// True until the connection is closed.
    package var isOpen: Bool { registration != nil }

    /// The unconsumed input's count of bytes.
    package var inputCount: Int { input.count - inputStart }

    /// Who connected.
    package func peerCredentials() -> PeerCredentials? {
        switch socket {
        case .some(let socket): return try? socket.peerCredentials()
        case .none: return nil
        }
    }

    /// Takes `count` bytes off the front of the input.
    package func consumeInput(_ count: Int) {
        precondition(count >= 0 && count <= inputCount)
        inputStart += count
        if inputStart == input.count {
            input.removeAll(keepingCapacity: input.capacity <= 4 * readLimit)
            inputStart = 0
        } else if inputStart >= readLimit {
            input.dropPrefix(inputStart)
            inputStart = 0
        }
    }

    /// Sends bytes, now as far as the kernel takes them, the rest when it does.
    package func write(_ bytes: [UInt8]) {
        guard isOpen, !closesAfterFlush else { return }
        output.append(contentsOf: bytes)
        flush()
    }

    /// Closes once all output has gone; no more is read.
    package func closeAfterFlush() {
        guard isOpen, !closesAfterFlush else { return }
        closesAfterFlush = true
        flush()
    }

    /// Closes at once.
    package func close() {
        guard let registration else { return }
        loop.deregister(registration)
        self.registration = nil
        _ = socket.take()
        delegate?.closed(self)
    }

    package func ready(_ readiness: Readiness, registration: EventLoop.Registration) {
        if !readiness.isDisjoint(with: [.failed]) { return close() }
        if readiness.contains(.writable) { flush() }
        guard isOpen else { return }
        if readiness.contains(.readable) {
            receive()
        } else if readiness.contains(.hungUp) {
            close()
        }
    }

    private func receive() {
        guard isOpen, !hasInputEnded, !closesAfterFlush else { return }
        do throws(Errno) {
            let result: Transferred
            switch socket {
            case .some(let socket): result = try socket.receive(upTo: readLimit, into: &input)
            case .none: return
            }
            switch result {
            case .wouldBlock: return
            case .bytes(0):
                hasInputEnded = true
                updateInterest()
                delegate?.inputEnded(on: self)
            case .bytes: delegate?.received(on: self)
            }
        } catch {
            close()
        }
    }

    private func flush() {
        while isOpen, outputStart < output.count {
            do throws(Errno) {
                let result: Transferred
                switch socket {
                case .some(let socket): result = try socket.send(output, in: outputStart..<output.count)
                case .none: return
                }
                guard case .bytes(let count) = result else { break }
                outputStart += count
            } catch {
                return close()
            }
        }
        guard isOpen else { return }
        if outputStart == output.count {
            output.removeAll(keepingCapacity: output.capacity <= outputLimit)
            outputStart = 0
            if closesAfterFlush { return close() }
        } else if outputStart >= outputLimit {
            output.dropPrefix(outputStart)
            outputStart = 0
        }
        updateInterest()
    }

    private func updateInterest() {
        guard let registration else { return }
        var wanted: Readiness = []
        if !isReadingPaused, !hasInputEnded, !closesAfterFlush, outputCount <= outputLimit { wanted.insert(.readable) }
        if outputCount > 0 { wanted.insert(.writable) }
        guard wanted != interest else { return }
        interest = wanted
        do throws(Errno) {
            try loop.modify(registration, wanted)
        } catch {
            close()
        }
    }
}
