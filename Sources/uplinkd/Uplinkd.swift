@main
enum Uplinkd {
    static func main() {}
}
