internal import Daemon
internal import Posix

@main
enum Uplinkd {
    static func main() {
        Process.exit(Daemon.run(Array(CommandLine.arguments.dropFirst())).rawValue)
    }
}
