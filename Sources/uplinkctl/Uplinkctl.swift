internal import ControlClient

@main
enum Uplinkctl {
    static func main() {
        ControlClient.Uplinkctl.main(Array(CommandLine.arguments.dropFirst()), version: "0.1.0")
    }
}
