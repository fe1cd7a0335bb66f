internal import ControlClient
internal import Version

@main
enum Uplinkctl {
    static func main() {
        ControlClient.Uplinkctl.main(Array(CommandLine.arguments.dropFirst()), version: Version.text)
    }
}
