package import Bytes
internal import CLinux
internal import Posix

/// Asks the kernel for routes and links, one question at a time; it waits for an answer for 200 ms at most.
package final class QuerySocket: RoutingInformation {
    /// How often a dump that changes interrupted is asked for again.
    private static let dumpTries = 5
    /// At most so many datagrams are read for one question, stale ones and all.
    private static let datagramsMaximum = 4_096

    private let channel: any NetlinkChannel
    private var buffer = [UInt8](repeating: 0, count: 65_536)
    private var sequence: UInt32 = 0

    /// Asks over `channel`, whose receives have a deadline.
    package init(_ channel: any NetlinkChannel) { self.channel = channel }

    package func route(to address: IPAddress, matching: Bool) throws(NetlinkError) -> RouteAnswer {
        sequence &+= 1
        switch try ask(Request.route(to: address, matching: matching, sequence: sequence)) {
        case .refused(let number): return .refused(Self.refusal(number))
        case .message(let message):
            guard message.type == RTM_NEWROUTE, let route = Decoder.route(message, in: buffer) else {
                throw .malformed
            }
            return .route(route)
        }
    }

    package func link(_ index: UInt32) throws(NetlinkError) -> LinkInfo? {
        sequence &+= 1
        switch try ask(Request.link(index, sequence: sequence)) {
        case .refused(let number):
            guard number == ENODEV else { throw .call(Errno(code: number)) }
            return nil
        case .message(let message):
            guard message.type == RTM_NEWLINK, let link = Decoder.link(message, in: buffer) else {
                throw .malformed
            }
            return link
        }
    }

    package func links() throws(NetlinkError) -> [LinkInfo] {
        for _ in 1..<Self.dumpTries {
            sequence &+= 1
            let (links, isInterrupted) = try dumpLinks()
            if !isInterrupted { return links }
        }
        sequence &+= 1
        return try dumpLinks().links
    }

    package func facts(of link: LinkInfo) -> LinkFacts { LinkFacts.read(link) }

    private static func refusal(_ number: Int32) -> RouteRefusal {
        switch number {
        case ENETUNREACH: .noRoute
        case EHOSTUNREACH: .unreachable
        case EACCES: .prohibited
        case EINVAL: .blackhole
        default: .other(number)
        }
    }

    private enum Answer {
        case message(Message)
        case refused(Int32)
    }

    /// Sends a question and reads on until the first message of its sequence number.
    ///
    /// An error that comes with an explanation is about the question: a blackhole route, too, is EINVAL, but bare.
    private func ask(_ request: [UInt8]) throws(NetlinkError) -> Answer {
        try send(request)
        for _ in 0..<Self.datagramsMaximum {
            let count = try receive()
            var reader = MessageReader(buffer, count: count)
            while let message = reader.next() {
                guard message.sequence == sequence else { continue }
                guard message.type == NLMSG_ERROR else { return .message(message) }
                guard let number = Decoder.errorNumber(message, in: buffer), number != 0 else { throw .malformed }
                guard Int32(message.flags) & NLM_F_ACK_TLVS == 0 else { throw .call(Errno(code: number)) }
                return .refused(number)
            }
        }
        throw .malformed
    }

    /// Links may have changed meanwhile; a dump is read to its end all the same.
    private func dumpLinks() throws(NetlinkError) -> (links: [LinkInfo], isInterrupted: Bool) {
        try send(Request.links(sequence: sequence))
        var links: [LinkInfo] = []
        var isInterrupted = false
        for _ in 0..<Self.datagramsMaximum {
            let count = try receive()
            var reader = MessageReader(buffer, count: count)
            while let message = reader.next() {
                guard message.sequence == sequence else { continue }
                isInterrupted = isInterrupted || Int32(message.flags) & NLM_F_DUMP_INTR != 0
                switch Int32(message.type) {
                case NLMSG_DONE, NLMSG_ERROR:
                    guard let number = Decoder.errorNumber(message, in: buffer) else { throw .malformed }
                    guard number == 0 else { throw .call(Errno(code: number)) }
                    return (links, isInterrupted)
                default:
                    if let link = Decoder.link(message, in: buffer) { links.append(link) }
                }
            }
        }
        throw .malformed
    }

    private func send(_ request: [UInt8]) throws(NetlinkError) {
        do throws(Errno) {
            try channel.send(request)
        } catch {
            throw .call(error)
        }
    }

    /// Receives a datagram of the kernel; its length.
    private func receive() throws(NetlinkError) -> Int {
        for _ in 0..<Self.datagramsMaximum {
            let received: NetlinkReceived?
            do throws(Errno) {
                received = try channel.receive(into: &buffer)
            } catch {
                throw .call(error)
            }
            guard let received else { throw .timedOut }
            guard !received.isTruncated else { throw .malformed }
            if received.sender == 0 { return received.count }
        }
        throw .malformed
    }
}
