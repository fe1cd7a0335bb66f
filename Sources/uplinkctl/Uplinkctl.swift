@main
enum Uplinkctl {
    static func main() {}
}
