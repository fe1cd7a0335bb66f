/// The daemon's two sockets, and where they are.
enum DaemonSocket {
    case events
    case control

    /// What to say where the other one answers.
    var mistaken: String {
        switch self {
        case .events:
            "this is the control socket; events go to the events socket (--socket, UPLINKD_SOCKET, else \(usualPath))"
        case .control:
            "this is the events socket; what operators ask goes to the control socket"
                + " (--socket, UPLINKCTL_SOCKET, else \(usualPath))"
        }
    }

    var name: String {
        switch self {
        case .events: "events socket"
        case .control: "control socket"
        }
    }

    private var usualPath: String {
        switch self {
        case .events: "/run/uplinkd/events.sock"
        case .control: "/run/uplinkd/control.sock"
        }
    }

    /// `--socket`, else the environment, else its usual place.
    func path(_ invocation: Invocation, _ console: Console) -> String {
        if let given = invocation.options["--socket"] { return given }
        let variable =
            switch self {
            case .events: "UPLINKD_SOCKET"
            case .control: "UPLINKCTL_SOCKET"
            }
        guard let value = console.environment(variable), !value.isEmpty else { return usualPath }
        return value
    }
}
