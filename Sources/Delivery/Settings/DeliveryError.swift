internal import Bytes

/// What can be wrong with the settings of a destination.
package enum DeliveryError: Error, Equatable, Sendable {
    /// Not `https://`, `http://` or `http+unix://` with a host (or the path of a socket), a port of 1 to 65535 and a
    /// path; or with user information or a fragment.
    case url(String)
    /// `http://` to another host without both PlainHTTP and ExpectHeader.
    case plainHTTP(String)
    /// Not `NAME` or `NAME: VALUE` in printable characters, or a name that the daemon sets itself.
    case header(String)
    /// A number out of its range; the argument names the setting.
    case range(String)
}

extension DeliveryError: CustomStringConvertible {
    /// What the operator reads; of a value that may be a secret it has nothing.
    package var description: String {
        switch self {
        case .url: "not a URL of https, http or http+unix that a destination can have"
        case .plainHTTP(let text): "\(text.shownURL): plain HTTP to another host takes PlainHTTP=yes and ExpectHeader="
        case .header: "not a header that can be set or expected"
        case .range(let setting): "\(setting) is out of its range"
        }
    }
}
