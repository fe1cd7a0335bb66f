internal import Configuration
internal import HTTPTransport
internal import Posix
internal import Queue
internal import SystemdService

/// Why the daemon does not start.
enum StartError: Error {
    case configuration([Problem])
    case queue(QueueError)
    case socket(BindError)
    case passed(PassedSocketError)
    case transport(HTTPTransportError)
    case system(Errno)

    /// What the process ends with.
    var exitStatus: ExitStatus {
        switch self {
        case .configuration: .configuration
        case .queue(.forbidden): .permission
        case .queue: .queue
        case .socket(.unknownGroup): .configuration
        case .socket(.failed(_, let errno)): errno == .access || errno == .permission ? .permission : .socketTaken
        case .socket: .socketTaken
        case .passed, .transport, .system: .bug
        }
    }

    /// One sentence for the operator.
    var sentence: String {
        switch self {
        case .configuration(let problems):
            "the configuration has errors: " + (problems.first { $0.severity == .error }.map { "\($0)" } ?? "")
        case .queue(let error): "\(error)"
        case .socket(.notASocket(let path)): "\(path): something that is no socket lies there; it was left alone"
        case .socket(.inUse(let path)): "\(path): another process listens there"
        case .socket(.unknownGroup(let name)): "the group \(name) is unknown"
        case .socket(.failed(let path, let errno)): "\(path): \(errno)"
        case .passed(.unknownName(let name)): "systemd passed a socket named \(name); events and control are known"
        case .passed(.notListening(let name)): "the socket \(name) that systemd passed does not listen"
        case .passed(.repeated(let name)): "systemd passed two sockets named \(name)"
        case .passed(.failed(let errno)): "the sockets that systemd passed cannot be read: \(errno)"
        case .transport(let error): "\(error)"
        case .system(let errno): "\(errno)"
        }
    }

    /// The same for the journal, which has each error of the configuration in a line of its own already.
    var summary: String {
        guard case .configuration(let problems) = self else { return sentence }
        let count = problems.count { $0.severity == .error }
        return count == 1 ? "the configuration has an error" : "the configuration has \(count) errors"
    }

    /// The error number behind it, for systemd.
    var errno: Errno? {
        switch self {
        case .system(let errno), .socket(.failed(_, let errno)), .queue(.forbidden(_, let errno)): errno
        default: nil
        }
    }
}
