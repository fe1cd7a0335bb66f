internal import Bytes
internal import Delivery

/// Where a request goes, as libcurl is told.
struct Target {
    let url: DestinationURL
    /// The URL that libcurl gets.
    let text: String
    /// The host is a name; an address libcurl takes as it is.
    let isName: Bool

    init(_ url: DestinationURL) {
        self.url = url
        text = url.scheme == .unix ? "http://localhost" + url.path : url.text
        isName = url.scheme != .unix && IPAddress(text: url.host) == nil
    }
}
