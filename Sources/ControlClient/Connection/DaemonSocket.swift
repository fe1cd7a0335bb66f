/// The daemon's two sockets, and where they are.
enum DaemonSocket {
    case events
    case control

    /// `--socket`, else the environment, else its usual place.
    func path(_ invocation: Invocation, _ console: Console) -> String {
        if let given = invocation.options["--socket"] { return given }
        let (variable, usual) =
            switch self {
            case .events: ("UPLINKD_SOCKET", "/run/uplinkd/events.sock")
            case .control: ("UPLINKCTL_SOCKET", "/run/uplinkd/control.sock")
            }
        guard let value = console.environment(variable), !value.isEmpty else { return usual }
        return value
    }
}
