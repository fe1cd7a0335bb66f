internal import Posix

/// How a user who may not use a socket comes to do so.
struct SocketAdvice {
    /// Groups whose members can do far more on a machine than talk to a daemon.
    private static let mighty: Set = [
        "root", "sudo", "wheel", "admin", "adm", "shadow", "disk", "docker", "lxd", "libvirt", "kmem", "staff",
    ]

    /// The group that may; nil where it cannot be seen, or is let in no more than others.
    private let group: String?
    private let isMighty: Bool
    private let socket: DaemonSocket

    /// Looks at the socket's file.
    init(_ path: String, _ socket: DaemonSocket) {
        let status = try? FileSystem.status(of: path)
        let number = status.flatMap { $0.mode & 0o060 == 0o060 ? $0.group : nil }
        self.init(group: number.flatMap { try? Socket.name(ofGroup: $0) }, isOfRoot: number == 0, socket)
    }

    init(group: String?, isOfRoot: Bool = false, _ socket: DaemonSocket) {
        self.group = group
        isMighty = isOfRoot || group.map(Self.mighty.contains) ?? false
        self.socket = socket
    }

    /// Lines for a person; each begins with two blanks.
    var text: String {
        var lines = isMighty ? wayToAnother : wayIntoGroup
        if socket == .events {
            lines += [
                "To let every local user post instead:",
                "    sudo systemctl edit uplinkd-events.socket    # add: [Socket], and below it: SocketMode=0666",
                "    sudo systemctl restart uplinkd-events.socket",
            ]
        }
        return lines.map { "  \($0)\n" }.joined()
    }

    private var wayIntoGroup: [String] {
        let group = group ?? socket.usualGroup
        return [
            "Members of the group \(group) may. To join it:",
            "    sudo usermod -aG \(group) \"$USER\"",
            "and log in again: a group counts from the next login on.",
        ]
    }

    private var wayToAnother: [String] {
        [
            "The socket is of the group \(group ?? "0"), whose members may do far more on this machine: join another.",
            "Whoever runs uplinkd should choose it, by SocketGroup=\(socket.usualGroup) in [\(socket.section)] of",
            "uplinkd.conf, or in the socket unit where systemd makes the socket, and start that again.",
        ]
    }
}

extension DaemonSocket {
    /// The group that the package gives it to.
    fileprivate var usualGroup: String {
        switch self {
        case .events: "uplinkd-clients"
        case .control: "uplinkd-admin"
        }
    }

    /// Where the configuration has its keys.
    fileprivate var section: String {
        switch self {
        case .events: "Intake"
        case .control: "Control"
        }
    }
}
