internal import Posix

/// How a user who may not use a socket comes to do so.
struct SocketAdvice {
    /// The group that may; nil where it cannot be seen, or is let in no more than others.
    private let group: String?
    private let socket: DaemonSocket

    /// Looks at the socket's file.
    init(_ path: String, _ socket: DaemonSocket) {
        self.socket = socket
        let status = try? FileSystem.status(of: path)
        group = status.flatMap { $0.mode & 0o060 == 0o060 ? try? Socket.name(ofGroup: $0.group) : nil }
    }

    init(group: String?, _ socket: DaemonSocket) {
        self.group = group
        self.socket = socket
    }

    /// Lines for a person; each begins with two blanks.
    var text: String {
        let group = group ?? socket.usualGroup
        var lines = [
            "Members of the group \(group) may. To join it:",
            "    sudo usermod -aG \(group) \"$USER\"",
            "and log in again: a group counts from the next login on.",
        ]
        if socket == .events {
            lines += [
                "To let every local user post instead:",
                "    sudo systemctl edit uplinkd-events.socket    # add: [Socket], and below it: SocketMode=0666",
                "    sudo systemctl restart uplinkd-events.socket",
            ]
        }
        return lines.map { "  \($0)\n" }.joined()
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
}
