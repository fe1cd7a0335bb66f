package import Bytes
internal import CLinux

/// Why a name has no addresses (getaddrinfo(3)).
package struct LookupError: Error, Hashable, Sendable {
    /// The system's words for it.
    package let text: String

    package init(text: String) { self.text = text }
}

/// Names to addresses by the system's resolver; it may block for minutes where name servers are silent.
package enum HostLookup {
    /// The addresses of a host, at most 16, in the system's order of preference.
    package static func addresses(of host: String) throws(LookupError) -> [IPAddress] {
        var found = [cl_address](repeating: cl_address(), count: 16)
        let count = cl_resolve(host, &found, Int32(found.count))
        guard count >= 0 else { throw LookupError(text: String(cString: cl_resolve_error(count))) }
        return found.prefix(Int(count)).compactMap { each in
            withUnsafeBytes(of: each.bytes) { IPAddress([UInt8]($0.prefix(each.family == 4 ? 4 : 16))) }
        }
    }
}
