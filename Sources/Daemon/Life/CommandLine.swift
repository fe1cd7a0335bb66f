internal import Posix

/// What `uplinkd` was asked to do.
struct DaemonCommand: Equatable {
    enum Action: Equatable {
        case run, check, version, help
        case misused(String)
    }

    var action = Action.run
    var configurationPath: String

    static let help = """
        uplinkd [--config FILE] [--check] [--version] [--help]

          --config FILE  read FILE instead of /etc/uplinkd/uplinkd.conf; FILE.d/*.conf are read after it
          --check        read the configuration and its files as the calling user, print every problem, exit 0 or 78
          --version      print the version
          --help         print this

        """

    /// Reads the arguments, the program's name left out.
    init(_ arguments: [String], environment: String?) {
        configurationPath = environment ?? "/etc/uplinkd/uplinkd.conf"
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            switch argument {
            case "--check": action = .check
            case "--version": action = .version
            case "--help", "-h": action = .help
            case "--config":
                guard let path = rest.popFirst() else {
                    action = .misused("--config needs a file")
                    return
                }
                configurationPath = path
            case _ where argument.hasPrefix("--config="):
                configurationPath = String(argument.dropFirst("--config=".count))
            default:
                action = .misused("unknown argument \(argument)")
                return
            }
        }
    }
}
