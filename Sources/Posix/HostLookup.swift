package import Bytes
internal import CLinux

/// Why a name has no addresses (getaddrinfo(3)).
package struct LookupError: Error, Hashable, Sendable {
    /// The system's words for it.
    package let text: String
    /// No name server has answered, so that nothing is known of the name.
    package let isSilence: Bool

    package init(text: String, isSilence: Bool = false) {
        self.text = text
        self.isSilence = isSilence
    }
}

/// Names to addresses by the system's resolver; it may block for minutes where name servers are silent.
package enum HostLookup {
    /// The addresses of a host, at most 16, in the system's order of preference.
    package static func addresses(of host: String) throws(LookupError) -> [IPAddress] {
        var found = [cl_address](repeating: cl_address(), count: 16)
        let count = cl_resolve(host, &found, Int32(found.count))
        guard count >= 0 else {
            throw LookupError(text: String(cString: cl_resolve_error(count)), isSilence: count == CL_RESOLVE_AGAIN)
        }
        return found.prefix(Int(count)).compactMap { each in
            withUnsafeBytes(of: each.bytes) { IPAddress([UInt8]($0.prefix(each.family == 4 ? 4 : 16))) }
        }
    }
}

extension HostLookup {
    private static let nameServerKeyword = "nameserver"

    /// The addresses of `nameserver` lines in resolv.conf(5), at most 3 as there; empty where it cannot be read.
    package static var nameServers: [IPAddress] {
        guard let text = try? FileSystem.contents(of: "/etc/resolv.conf", limit: 65_536) else { return [] }
        let addresses = text.split(separator: UInt8(ascii: "\n")).compactMap { line -> IPAddress? in
            let words = line.split { $0 == 32 || $0 == 9 || $0 == 13 }
            guard words.count > 1, words[0].elementsEqual(nameServerKeyword.utf8) else { return nil }
            return IPAddress(text: Array(words[1]).text)
        }
        return Array(addresses.prefix(3))
    }
}
