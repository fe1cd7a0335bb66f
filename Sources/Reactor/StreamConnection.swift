internal import Bytes
package import Posix

/// Who serves a `StreamConnection`.
package protocol StreamConnectionDelegate: AnyObject {
    /// Something can be read; call `readAtOnce`, now or later.
    func becameReadable(_ connection: StreamConnection)
    /// `connection.input` has grown; take what can be taken with `consumeInput`.
    func received(on connection: StreamConnection)
    /// The peer will send no more; output can still be written.
    func inputEnded(on connection: StreamConnection)
    /// The connection is gone; called once, also after `close`.
    func closed(_ connection: StreamConnection)
    /// All output has gone that had to wait for the peer.
    func outputDrained(on connection: StreamConnection)
}

extension StreamConnectionDelegate {
    /// Reads at once; for those who let nobody wait for others.
    package func becameReadable(_ connection: StreamConnection) { connection.readAtOnce() }

    /// Does nothing; for those who never wait for it.
    package func outputDrained(on connection: StreamConnection) {}
}

/// A non-blocking stream socket on an event loop, with bounded input and output.
///
/// It reads at most `readLimit` bytes a turn, stops reading while `isReadingPaused` or while more than `outputLimit`
/// bytes wait to be sent, and never blocks. When the peer is gone, what it sent before is still given out; what is
/// written to it is dropped.
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
    /// At most so many bytes are read at a time.
    package let readLimit: Int

    private let loop: EventLoop
    private var socket: FileDescriptor?
    private var registration: EventLoop.Registration?
    private var interest: Readiness = []
    private var output: [UInt8] = []
    private var outputStart = 0
    private var closesAfterFlush = false
    private var endsOutputAfterFlush = false
    private var isOutputDead = false
    /// Taken off the loop: the peer hung up while nothing was to be read.
    private var isParked = false
    /// The most storage that a connection without input keeps for it; four times as much for output.
    private static let keptBytes = 4_096
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
    package var isOpen: Bool { registration != nil || isParked }

    /// The unconsumed input's count of bytes.
    package var inputCount: Int { input.count - inputStart }

    /// Who connected.
    package func peerCredentials() -> PeerCredentials? {
        switch socket {
        case .some(let socket): return try? socket.peerCredentials()
        case .none: return nil
        }
    }

    /// Shows the unconsumed input to `body`, and consumes as many bytes as it returns.
    package func takeInput(_ body: (Span<UInt8>) -> Int) {
        consumeInput(body(input.span.extracting(inputStart..<input.count)))
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
        guard isOpen, !closesAfterFlush, !endsOutputAfterFlush, !isOutputDead, !bytes.isEmpty else { return }
        output.append(contentsOf: bytes)
        flush()
    }

    /// Ends the sending direction once all output has gone; reading goes on.
    package func endOutputAfterFlush() {
        guard isOpen, !closesAfterFlush, !endsOutputAfterFlush else { return }
        endsOutputAfterFlush = true
        flush()
    }

    /// Closes once all output has gone; no more is read.
    package func closeAfterFlush() {
        guard isOpen, !closesAfterFlush else { return }
        closesAfterFlush = true
        flush()
    }

    /// Closes where the peer takes no more, which a Unix socket tells before anything is written (unix(7): EPIPE).
    package func closeIfUnread() {
        do throws(Errno) {
            switch socket {
            case .some(let socket): _ = try socket.send([0], in: 0..<0)
            case .none: return
            }
        } catch {
            close()
        }
    }

    /// Reads what has come, at most `readLimit` bytes, unless reading is paused.
    package func readAtOnce() {
        guard isOpen, !isReadingPaused, !hasInputEnded, !closesAfterFlush else { return }
        borrowBuffer()
        receiveOnce()
        returnBuffer()
    }

    /// Closes at once.
    package func close() {
        guard isOpen else { return }
        if let registration { loop.deregister(registration) }
        registration = nil
        isParked = false
        _ = socket.take()
        delegate?.closed(self)
    }

    package func ready(_ readiness: Readiness, registration: EventLoop.Registration) {
        // What waits for a peer that hung up can never be sent, and the kernel need not call it writable.
        if !readiness.isDisjoint(with: [.writable, .hungUp, .failed]) {
            let waited = outputCount > 0
            flush()
            if waited, isOpen, outputCount == 0 { delegate?.outputDrained(on: self) }
        }
        guard isOpen else { return }
        if readiness.contains(.readable) {
            delegate?.becameReadable(self)
        } else if !readiness.isDisjoint(with: [.hungUp, .failed]) {
            if isReadingPaused, !closesAfterFlush { park() } else { close() }
        }
    }

    /// Leaves the loop until reading goes on: a hang-up is reported for ever, whatever is asked for.
    private func park() {
        guard let registration else { return }
        loop.deregister(registration)
        self.registration = nil
        isParked = true
    }

    /// Takes the loop's buffer, unless this connection holds a large one already.
    private func borrowBuffer() {
        guard input.capacity < readLimit else { return }
        loop.receiveBuffer.append(input, inputStart..<input.count)
        swap(&input, &loop.receiveBuffer)
        inputStart = 0
        loop.receiveBuffer.removeAll(keepingCapacity: true)
    }

    /// Gives the large buffer to the loop once little is left in it.
    private func returnBuffer() {
        guard input.capacity >= readLimit, inputCount <= readLimit else { return }
        swap(&input, &loop.receiveBuffer)
        input.removeAll(keepingCapacity: input.capacity <= Self.keptBytes)
        input.append(loop.receiveBuffer, inputStart..<loop.receiveBuffer.count)
        inputStart = 0
        loop.receiveBuffer.removeAll(keepingCapacity: loop.receiveBuffer.capacity <= 4 * readLimit)
    }

    private func receiveOnce() {
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
                guard !closesAfterFlush, !hasInputEnded || isReadingPaused else { return close() }
                isOutputDead = true
                outputStart = output.count
            }
        }
        guard isOpen else { return }
        if outputStart == output.count {
            output.removeAll(keepingCapacity: output.capacity <= 4 * Self.keptBytes)
            outputStart = 0
            if closesAfterFlush { return close() }
            if endsOutputAfterFlush { endOutput() }
        } else if outputStart >= outputLimit {
            output.dropPrefix(outputStart)
            outputStart = 0
        }
        updateInterest()
    }

    private func endOutput() {
        guard !isOutputDead else { return }
        isOutputDead = true
        switch socket {
        case .some(let socket): try? socket.shutdownWrite()
        case .none: return
        }
    }

    private func updateInterest() {
        if isParked, !isReadingPaused { return rejoin() }
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

    private func rejoin() {
        let descriptor: Int32
        switch socket {
        case .some(let socket): descriptor = socket.number
        case .none: return
        }
        do throws(Errno) {
            registration = try loop.register(descriptor, .readable, handler: self)
            interest = .readable
            isParked = false
        } catch {
            return close()
        }
        updateInterest()
    }
}
