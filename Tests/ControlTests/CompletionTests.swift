import Bytes
import Control
import Testing

@testable import ControlClient

struct CompletionTests {
    /// What the shells are offered for what is typed behind `uplinkctl `: a kind, or words.
    private func offered(_ typed: String, socket: String = "/nowhere") -> [String] {
        let console = CapturedConsole(environment: ["UPLINKCTL_SOCKET": socket])
        let words = typed.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        #expect(console.run(["--complete"] + words) == 0)
        #expect(console.complaints.isEmpty)
        let lines = console.output.text.split(separator: "\n").map { String($0.prefix { $0 != "\t" }) }
        return lines.first == "words" ? Array(lines.dropFirst()) : lines
    }

    @Test(arguments: [
        ("sta", ["status"]), ("de", ["dead", "destination"]), ("dead ", ["ls", "show", "retry", "drop"]),
        ("dead r", ["retry"]), ("help dead s", ["show"]), ("nonsense ", []), ("dead nonsense ", []),
        ("status --ch", ["--check"]), ("--json status --check --ch", []), ("--js", ["--json"]), ("flush --ch", []),
        ("send --la", ["--lane"]), ("send --lane ", ["urgent", "normal", "bulk"]), ("send --lane=b", ["bulk"]),
        ("send --lane= ", ["files"]), ("send --lane bulk ", ["files"]), ("send a b", []), ("send --ttl ", []),
        ("verify ", ["directories"]), ("--socket ", ["files"]), ("--socket=x status --c", ["--check"]),
        ("send -- --la", ["files"]), ("dead drop --y", ["--yes"]), ("reload ", []),
    ])
    func whatFitsIsOffered(_ typed: String, _ expected: [String]) { #expect(offered(typed) == expected) }

    @Test func nothingTypedOffersEveryFirstWordOnce() {
        let words = offered("")
        #expect(Set(words) == Set(Command.all.map { String($0.name.prefix { $0 != " " }) }))
        #expect(Set(words).count == words.count)
        #expect(CapturedConsole().run("--complete") == 0)
    }

    @Test func theDaemonNamesItsDestinationsAndLetters() throws {
        var script = Script()
        script.report.destinations[1].flags = [.removed]
        script.answer = .letters([.example], next: nil, withEvents: false)
        try withDaemon(script) { (path, _) throws in
            #expect(offered("pause ", socket: path) == ["collector"])
            #expect(offered("pause ba", socket: path) == [])
            #expect(offered("destination forget ", socket: path) == ["backup"])
            #expect(offered("destination rename backup ", socket: path) == [])
            #expect(offered("dead ls --destination ", socket: path) == ["collector"])
            #expect(offered("dead show ", socket: path) == ["00000000000000aa-7"])
            #expect(offered("dead retry 00000000000000aa-7 ", socket: path) == [])
            #expect(offered("--socket \(path) flush ") == ["collector"])
        }
        #expect(offered("pause ") == [])
    }

    @Test func aDaemonThatIsSlowHoldsNobodyUp() throws {
        try withServer({ _ in }) { path in
            let began = ContinuousClock.now
            #expect(offered("pause ", socket: path) == [])
            #expect(ContinuousClock.now - began < .seconds(3))
        }
    }
}
