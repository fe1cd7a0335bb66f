internal import Bytes
internal import Delivery

/// Where a request goes, as libcurl is told.
struct Target {
    let url: DestinationURL
    let proxy: DestinationSettings.Proxy?
    /// The URL that libcurl gets.
    let text: String
    /// `NAME:PORT:` of what is connected to; nil for an address, which libcurl takes as it is, and for a Unix socket.
    let name: String?

    init(_ url: DestinationURL, by proxy: DestinationSettings.Proxy?) {
        self.url = url
        self.proxy = proxy
        text = url.scheme == .unix ? "http://localhost" + url.path : url.text
        let (host, port) = proxy.map { ($0.host, $0.port) } ?? (url.host, url.port)
        name = url.scheme == .unix || IPAddress(text: host) != nil ? nil : "\(host):\(port):"
    }
}
