internal import Bytes
internal import Posix

/// What sysfs says of a link beyond netlink.
package struct LinkFacts: Hashable, Sendable {
    /// DEVTYPE of its uevent file: `wlan`, `wwan`, `bluetooth`, `ppp`.
    package let deviceType: String?
    /// True where it has a radio of the 802.11 stack.
    package let hasRadio: Bool

    package init(deviceType: String? = nil, hasRadio: Bool = false) {
        self.deviceType = deviceType
        self.hasRadio = hasRadio
    }

    /// Reads `/sys/class/net/NAME`, and takes it for that link only where its index agrees.
    ///
    /// The mounted sysfs may be that of another network namespace.
    package static func read(_ link: LinkInfo) -> LinkFacts {
        let folder = "/sys/class/net/\(link.name)"
        guard !link.name.contains("/"), lines(of: folder + "/ifindex").first == "\(link.index)" else {
            return LinkFacts()
        }
        let key = "DEVTYPE="
        let type = lines(of: folder + "/uevent").first { $0.hasPrefix(key) }
        return LinkFacts(
            deviceType: type.map { String($0.dropFirst(key.count)) },
            hasRadio: (try? FileSystem.status(of: folder + "/phy80211")) != nil)
    }

    private static func lines(of path: String) -> [Substring] {
        guard let bytes = try? FileSystem.contents(of: path, limit: 4_096) else { return [] }
        return bytes.text.split(separator: "\n")
    }
}
