internal import Bytes

/// How one destination is to be delivered to; the values of its section of the configuration, checked.
package struct DestinationSettings: Sendable, Equatable {
    /// The layouts of a request's body.
    package enum Format: String, Sendable, CaseIterable {
        /// An array of events.
        case json
        /// An event a line.
        case ndjson
        /// One event a request.
        case object
        /// One CloudEvent a request.
        case cloudevents
        /// Up to 10 events for Tealium's collector.
        case tealium
    }

    /// Members that can be added to an event; raw values are their names.
    package enum Member: String, Sendable, CaseIterable {
        case wasQueued = "was_queued"
        case queueReason = "queue_reason"
        case connectionType = "network_connection_type"
        case sentConnectionType = "sent_connection_type"
        case eventID = "event_id"
        case acceptedAt = "accepted_at"
    }

    /// A field that an answer over plain http must carry to count as the destination's.
    package struct ExpectedHeader: Sendable, Equatable {
        package let name: String
        /// Nil: any value.
        package let value: String?

        /// Reads `NAME` or `NAME: VALUE`; throws `header`.
        package init(_ text: String) throws(DeliveryError) {
            let (name, value) = try HeaderField.halves(text)
            self.name = name
            self.value = value
        }
    }

    /// An HTTP proxy that requests go by; to https it is asked for a tunnel.
    package struct Proxy: Sendable, Hashable {
        /// A name or an address without brackets.
        package let host: String
        /// 1 to 65535.
        package let port: UInt16
        package let user: String?
        package let password: String?

        package init(host: String, port: UInt16, user: String? = nil, password: String? = nil) {
            self.host = host
            self.port = port
            self.user = user
            self.password = password
        }

        /// `http://HOST:PORT`.
        package var text: String { "http://\(host.contains(":") ? "[\(host)]" : host):\(port)" }
    }

    /// The time over which what follows the first batch after an outage is spread.
    package enum FlushSpread: Sendable, Equatable {
        /// 2 s after an outage of the own link; a quarter of the outage, at most 600 s, after the collector's.
        case automatic
        /// Zero turns it off.
        case fixed(Duration)
    }

    /// 1 to 32 bytes of `[a-z0-9-]`.
    package let name: String
    package let url: DestinationURL
    package var format = Format.json
    /// 1 to 100,000.
    package var batchMaximumEvents = 500
    /// Bytes of a body before compression, 1 KiB to 4 MiB; a longer event goes alone.
    package var batchMaximumBytes = 1_048_576
    /// 1 to 9; nil: no compression.
    package var gzipLevel: Int? = 1
    /// In the order in which they are added.
    package var enrichWith: [Member] = [.wasQueued, .queueReason, .connectionType, .eventID, .acceptedAt]
    package var headers: [HeaderField] = []
    /// At most so many events are delivered in a second (`Pace`), 1 to 10,000,000; nil: no limit.
    package var maximumEventsPerSecond: Int?
    /// Sent as `Authorization: Bearer`.
    package var token: [UInt8]?
    /// Why the token that it needs is not known, so that nothing is sent; nil where it needs none, or has it.
    package var tokenFault: String?
    package var connectTimeout: Duration = .seconds(10)
    package var timeout: Duration = .seconds(30)
    package var retryMinimum: Duration = .seconds(1)
    package var retryMaximum: Duration = .seconds(300)
    package var flushSpread = FlushSpread.automatic
    package var allowsPlainHTTP = false
    package var expectHeader: ExpectedHeader?
    package var networkPolicy = NetworkPolicy.any
    /// What a check without events gets, at the scheme, host and port of `url`; nil: `url`.
    package var checkURL: DestinationURL?
    /// `source` and `type` of events that are no CloudEvents, where they are sent as such.
    package var cloudEventsSource = ""
    package var cloudEventsType = ""
    package var proxy: Proxy?
    /// Certificates in PEM that vouch for the destination; nil: those of the system.
    package var authority: [UInt8]?
    /// The certificate in PEM that is shown to it, and its key.
    package var clientCertificate: [UInt8]?
    package var clientKey: [UInt8]?

    /// The standard settings for a name and a URL; the rest is set, then `check` is called.
    package init(name: String, url: DestinationURL) {
        self.name = name
        self.url = url
    }

    /// The host that connections are made to: the proxy's, if there is one; nil for a Unix socket.
    package var connectHost: String? { proxy?.host ?? (url.scheme == .unix ? nil : url.host) }

    /// The port that connections are made to; 0 for a Unix socket.
    package var connectPort: UInt16 { proxy?.port ?? url.port }

    /// True for a byte that can stand in a header field as part of a token.
    package static func isOfToken(_ byte: UInt8) -> Bool { (33...126).contains(byte) }

    /// Throws where values are out of range or do not go together.
    package func check() throws(DeliveryError) {
        guard (1...100_000).contains(batchMaximumEvents) else { throw .range("BatchMaxEvents") }
        guard (1_024...4_194_304).contains(batchMaximumBytes) else { throw .range("BatchMaxSize") }
        guard maximumEventsPerSecond.map({ (1...10_000_000).contains($0) }) ?? true else {
            throw .range("MaxEventsPerSecond")
        }
        guard gzipLevel.map({ (1...9).contains($0) }) ?? true else { throw .range("Compression") }
        guard connectTimeout > .zero else { throw .range("ConnectTimeout") }
        guard timeout > .zero else { throw .range("Timeout") }
        guard retryMinimum > .zero else { throw .range("RetryMin") }
        guard retryMaximum >= retryMinimum else { throw .range("RetryMax") }
        if case .fixed(let span) = flushSpread, span < .zero { throw .range("FlushSpread") }
        guard token?.allSatisfy(Self.isOfToken) ?? true else { throw .header("Authorization") }
        guard url.scheme != .http || url.isLocal || allowsPlainHTTP && expectHeader != nil else {
            throw .plainHTTP(url.text)
        }
    }
}

extension HeaderField {
    /// Fields that the daemon writes itself.
    private static let own = [
        "host", "content-length", "content-encoding", "transfer-encoding", "connection", "expect", "idempotency-key",
        "uplink-attempt",
    ]

    /// Reads `NAME: VALUE`; throws `header` where it is something else or names a field that the daemon sets.
    package init(_ text: String) throws(DeliveryError) {
        let (name, value) = try Self.halves(text)
        guard let value, !Self.own.contains(name.lowercased()) else { throw .header(text) }
        self.init(name: name, value: value)
    }

    fileprivate static func halves(_ text: String) throws(DeliveryError) -> (String, String?) {
        let halves = text.utf8.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
        let marks = Array("!#$%&'*+-.^_`|~".utf8)
        let isToken = halves[0].allSatisfy {
            (48...57).contains($0) || (97...122).contains($0.lowercased) || marks.contains($0)
        }
        guard isToken, !halves[0].isEmpty else { throw .header(text) }
        guard halves.count == 2 else { return (Array(halves[0]).text, nil) }
        var value = halves[1]
        while value.first == 32 || value.first == 9 { value = value.dropFirst() }
        while value.last == 32 || value.last == 9 { value = value.dropLast() }
        guard !value.isEmpty, value.allSatisfy({ $0 >= 32 && $0 != 127 || $0 == 9 }) else { throw .header(text) }
        return (Array(halves[0]).text, Array(value).text)
    }
}
