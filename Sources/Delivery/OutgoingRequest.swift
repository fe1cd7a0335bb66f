/// One HTTP request, complete but for the addresses to connect to.
package struct OutgoingRequest: Sendable {
    /// The methods in use.
    package enum Method: String, Sendable {
        case get = "GET"
        case post = "POST"
    }

    /// Shorter bodies, in bytes, are not worth compressing.
    package static let compressionMinimum = 1_024

    /// Names the request in its outcome and to cancel it; unique while the process lives.
    package let id: UInt64
    /// The destination's name.
    package let destination: String
    package let method: Method
    package let url: DestinationURL
    /// What to ask by; nil: the destination itself.
    package let proxy: DestinationSettings.Proxy?
    /// All fields but Host, Content-Length, Content-Encoding and Connection, which the transport adds.
    package let headers: [HeaderField]
    /// Empty for a check without events.
    package let body: [UInt8]
    /// Compress the body at this level, 1 to 9; nil: send it as it is.
    package let gzipLevel: Int?
    /// The most time until the connection, TLS included, is made.
    package let connectTimeout: Duration
    /// The most time until the answer is complete.
    package let timeout: Duration
    /// True where it carries no events and only finds out whether the destination answers.
    package let isCheck: Bool

    package init(
        id: UInt64, destination: String, method: Method, url: DestinationURL,
        proxy: DestinationSettings.Proxy? = nil, headers: [HeaderField], body: [UInt8], gzipLevel: Int?,
        connectTimeout: Duration, timeout: Duration, isCheck: Bool
    ) {
        self.id = id
        self.destination = destination
        self.method = method
        self.url = url
        self.proxy = proxy
        self.headers = headers
        self.body = body
        self.gzipLevel = gzipLevel
        self.connectTimeout = connectTimeout
        self.timeout = timeout
        self.isCheck = isCheck
    }
}
