internal import Bytes
internal import CCurl
internal import Delivery
internal import Time

/// One request on its way, with all that libcurl points to meanwhile.
final class Transfer {
    /// A response's head, and its body, may have so many bytes.
    static let responseLimit = 65_536
    /// So many bytes may come over the wire for one response, framing and TLS included.
    static let wireLimit: UInt64 = 1_048_576
    /// So many bytes may come over TLS in one call of libcurl: of HTTP/2 it reads on while nothing is for its request.
    static let callLimit = 262_144
    /// So many bytes of the response's body are kept.
    static let keptCount = 2_048

    let request: OutgoingRequest
    let easy: EasyHandle
    let body: [UInt8]
    private var sentCount = 0
    private var head = ResponseHead()
    private var answerBody: [UInt8] = []
    private var receivedCount = 0
    /// What libcurl knew at its end of the way to it; nil where it was cut off.
    private(set) var end: (proxyStatus: Int?, times: TransferTimes)?

    /// A request whose `body` is as it goes over the wire.
    init(_ request: OutgoingRequest, body: [UInt8], on easy: EasyHandle) {
        self.request = request
        self.easy = easy
        self.body = body
    }

    /// True where the transfer was ended because the answer's head was too long.
    var isHeadTooLong: Bool { head.count > Self.responseLimit }
    /// True where the transfer was ended because the answer's body was too long; its head is whole.
    var isBodyTooLong: Bool { receivedCount > Self.responseLimit }
    /// True once the head of the final answer is whole.
    var hasHead: Bool { head.isComplete }

    /// The first line of the final answer; empty where none came.
    var statusLine: String { head.statusLine }

    /// What has come, once the head is whole.
    var answer: TransportAnswer {
        let status = easy.number(CURLINFO_RESPONSE_CODE)
        return TransportAnswer(
            status: status, headers: head.fields, body: answerBody, isVerifiedPeer: isVerifiedPeer(status),
            peer: IPAddress(text: easy.text(CURLINFO_PRIMARY_IP)))
    }

    /// A proxy hands on what anybody said; but that it wants to know us it says itself.
    private func isVerifiedPeer(_ status: Int) -> Bool {
        switch request.url.scheme {
        case .https, .unix: true
        case .http where request.proxy != nil: status == 407
        case .http: Self.isLoopback(easy.text(CURLINFO_PRIMARY_IP))
        }
    }

    /// Of an address as inet_ntop(3) writes it.
    private static func isLoopback(_ address: String) -> Bool {
        address.hasPrefix("127.") || address == "::1" || address.hasPrefix("::ffff:127.")
    }

    /// Takes a line of a head; false ends the transfer.
    func receive(headLine: Span<UInt8>) -> Bool {
        head.take(headLine)
        return !isHeadTooLong
    }

    /// Takes bytes of the answer's body; false ends the transfer.
    func receive(body bytes: Span<UInt8>) -> Bool {
        receivedCount += bytes.count
        let kept = min(bytes.count, Self.keptCount - answerBody.count)
        if kept > 0 { answerBody.append(contentsOf: bytes.extracting(0..<kept)) }
        return !isBodyTooLong
    }

    /// Gives the next bytes of the request's body; how many, 0 at its end.
    func send(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let count = min(buffer.count, body.count - sentCount)
        unsafe buffer.copyBytes(from: body[sentCount..<sentCount + count])
        sentCount += count
        return count
    }

    /// Goes back to a byte of the request's body, because a pooled connection turned out dead.
    func rewind(to offset: Int) -> Bool {
        guard (0...body.count).contains(offset) else { return false }
        sentCount = offset
        return true
    }

    /// Keeps what libcurl knows of the transfer while its handle is not yet used for another.
    func noteEnd() {
        func time(_ info: CURLINFO) -> Duration? {
            let microseconds = unsafe ccurl_get_microseconds(easy.raw, info)
            return microseconds > 0 ? .microseconds(microseconds) : nil
        }
        var times = TransferTimes()
        times.connected = time(CURLINFO_CONNECT_TIME_T)
        times.secured = time(CURLINFO_APPCONNECT_TIME_T)
        times.firstByte = time(CURLINFO_STARTTRANSFER_TIME_T)
        times.ended = time(CURLINFO_TOTAL_TIME_T)
        let status = easy.number(CURLINFO_HTTP_CONNECTCODE)
        end = (status > 0 ? status : nil, times)
    }
}
