import Bytes
import Posix
import Testing

@testable import ControlClient

struct ArgumentTests {
    /// What a command line comes to, in words.
    private func meaning(_ arguments: [String]) -> String {
        do throws(UsageError) {
            switch try Request(arguments, table: Command.all) {
            case .version: return "version"
            case .help(let command): return "help \(command?.name ?? "all")"
            case .helpOnGroup(let group): return "help on \(group)"
            case .run(let command, let invocation):
                let options = invocation.options.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
                return ([command.name] + options + [invocation.operand ?? "-none"]).joined(separator: " ")
            }
        } catch {
            return "error: \(error.message)"
        }
    }

    @Test(arguments: [
        (["status"], "status -none"),
        (["--json", "status", "--check"], "status --check= --json= -none"),
        (["send", "-"], "send -"),
        (["send", "--lane", "bulk", "file"], "send --lane=bulk file"),
        (["send", "--lane=bulk", "--", "--file"], "send --lane=bulk --file"),
        (["--socket=/a=b", "flush", "x"], "flush --socket=/a=b x"),
        (["--lane", "urgent", "send"], "send --lane=urgent -none"),
        (["collector", "--listen", "0.0.0.0:0"], "collector --listen=0.0.0.0:0 -none"),
        (["--help"], "help all"), (["-h", "send"], "help send"), (["send", "--help", "x"], "help send"),
        (["help"], "help all"), (["help", "send"], "help send"), (["--version"], "version"),
        (["consent", "--help"], "help on consent"), (["help", "dead"], "help on dead"),
        (["dead", "ls", "--help"], "help dead ls"),
        (["--no-pager", "reload"], "reload --no-pager= -none"),
    ])
    func commandLinesAreUnderstood(_ arguments: [String], _ expected: String) {
        #expect(meaning(arguments) == expected)
    }

    @Test(arguments: [
        ([], "no command given; 'uplinkctl --help' lists them"),
        (["stauts"], "unknown command 'stauts'; did you mean 'status'?"),
        (["top"], "unknown command 'top'"),
        (["dea"], "unknown command 'dea'; did you mean 'dead'?"),
        (["ded", "ls"], "unknown command 'ded'; did you mean 'dead'?"),
        (["dead", "shwo", "x"], "unknown command 'dead shwo'; did you mean 'dead show'?"),
        (["stat"], "unknown command 'stat'; did you mean 'status'?"),
        (["rel"], "unknown command 'rel'; did you mean 'reload'?"),
        (["s"], "unknown command 's'"),
        (["status", "--chek"], "unknown option '--chek'; did you mean '--check'?"),
        (["status", "--lane", "bulk"], "unknown option '--lane'"),
        (["--check", "send"], "send takes no option '--check'"),
        (["status", "now"], "status: one argument too many: 'now'"),
        (["flush", "a", "b"], "flush: one argument too many: 'b'"),
        (["send", "--lane"], "option '--lane' needs a value: LANE"),
        (["send", "--lane="], "option '--lane' needs a value: LANE"),
        (["status", "--check=yes"], "option '--check' takes no value"),
        (["status", "-x"], "unknown option '-x'"),
    ])
    func othersAreRefusedWithAHint(_ arguments: [String], _ expected: String) {
        #expect(meaning(arguments) == "error: \(expected)")
        let console = CapturedConsole()
        #expect(console.run(arguments) == 2)
        #expect(console.complaints.text == "uplinkctl: \(expected)\n")
        #expect(console.output.isEmpty)
    }

    @Test(arguments: [
        "README.md", "Documentation/install.md", "Documentation/control.md", "Documentation/delivery.md",
        "Documentation/queue-format.md", "systemd/uplinkd.catalog", "systemd/uplinkd.service", "Config/uplinkd.conf",
    ])
    func whatTheShippedTextsNameExists(_ file: String) throws {
        var folder = #filePath.split(separator: "/")
        folder.removeLast(3)
        let path = "/" + folder.joined(separator: "/") + "/" + file
        let text = try FileSystem.contents(of: path, limit: 1 << 20).text
        for match in text.matches(of: /(?:`|\/| {4}|&& |\| )uplinkctl(?: --[a-z]+(?: [A-Z\/][^ ]*)?)* ([a-z]+)/) {
            let word = match.output.1
            let isKnown = Command.all.contains { $0.name == word || $0.name.hasPrefix(word + " ") }
            #expect(isKnown, "\(file): \(match.output.0)")
        }
    }

    private static let twoWords: [([String], Int32)] = [
        (["dead"], 2), (["dead", "frob"], 2), (["dead", "show"], 2), (["dead", "retry"], 2),
        (["dead", "retry", "--all", "1-1"], 2), (["destination", "rename", "a"], 2),
        (["destination", "rename", "a", "b", "c"], 2), (["ls"], 2), (["pause", "--all"], 2),
        (["--help", "dead", "drop"], 0),
    ]

    @Test(arguments: twoWords)
    func commandsOfTwoWordsAreRead(_ words: [String], status: Int32) {
        #expect(CapturedConsole().run(words) == status)
    }

    @Test func helpNamesEveryCommandAndOptionInEightyColumns() {
        let overview = Help.text(table: Command.all)
        for command in Command.all {
            #expect(overview.contains("  \(command.synopsis)  "))
            let help = Help.text(of: command)
            #expect(help.hasPrefix("Usage: uplinkctl \(command.usage)\n"))
            for option in command.allOptions { #expect(help.contains("  \(option.usage)  ")) }
            for line in (overview + help).split(separator: "\n") { #expect(line.utf8.count <= 80, "\(line)") }
        }
    }

    @Test func helpSaysWhatIsToBeChosenAndWhichSocketIsMeant() throws {
        func help(_ name: String) throws -> String {
            Help.text(of: try #require(Command.all.first { $0.name == name }))
        }
        #expect(try help("purge").hasPrefix("Usage: uplinkctl purge (--consent CATEGORY | --id ID) [--yes]\n"))
        #expect(try help("send").contains("  talk to the daemon at PATH, its events socket\n"))
        #expect(try help("verify").contains("  talk to the daemon at PATH, its control socket\n"))
        for name in ["config check", "config show", "collector"] {
            #expect(try !help(name).contains("--socket"))
            let words = name.split(separator: " ").map(String.init)
            #expect(CapturedConsole().run(words + ["--socket", "/x", "--help"]) == 0, "it is taken all the same")
        }
    }

    @Test(arguments: ["consent", "queue", "dead", "config", "destination"])
    func helpOnAGroupNamesItsCommandsAlone(_ group: String) {
        let help = CapturedConsole()
        #expect(help.run(group, "--help") == 0)
        for command in Command.all {
            let isNamed = help.output.text.contains("  \(command.synopsis)  ")
            #expect(isNamed == command.name.hasPrefix(group + " "), "\(command.name)")
        }
        for line in help.output.text.split(separator: "\n") { #expect(line.utf8.count <= 80, "\(line)") }
    }

    @Test(arguments: [
        ["send", "--consent", "Bad Cat"], ["send", "--consent", "ads", "--lane", "urgent"], ["send", "--ttl", "x"],
        ["send", "--ttl", "0"], ["send", "--ttl", "4294967296s"], ["consent", "set", "BAD!", "deny", "--yes"],
        ["pause", "--for", "0s"], ["pause", "x", "--for", "soon"], ["pause", "--for", "367d"],
        ["purge", "--consent", "BAD", "--yes"],
    ])
    func badValuesAreUsageErrorsBeforeTheDaemonIsAsked(_ words: [String]) {
        let nowhere = ["UPLINKCTL_SOCKET": "/nowhere/c.sock", "UPLINKD_SOCKET": "/nowhere/e.sock"]
        let console = CapturedConsole(input: ["{}\n"], environment: nowhere)
        #expect(console.run(words) == 2)
        #expect(!console.complaints.text.contains("nowhere"))
    }

    @Test(arguments: [
        ("127.0.0.1:8080", 0x7F00_0001, 8_080), ("localhost:1", 0x7F00_0001, 1), ("0.0.0.0:0", 0, 0),
        ("10.1.2.3:65535", 0x0A01_0203, 65_535),
    ])
    func addressesToListenOnAreRead(_ text: String, _ address: Int, _ port: Int) throws {
        let read = try #require(Command.listenAddress(text))
        #expect(read.address == UInt32(address))
        #expect(read.port == UInt16(port))
    }

    @Test(arguments: [
        "", ":80", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536", "host:80", "::1:80", "1.2.3.4:+5",
    ])
    func otherPlacesAreNot(_ text: String) {
        #expect(Command.listenAddress(text) == nil)
        #expect(CapturedConsole().run(["collector", "--listen", text.isEmpty ? "x" : text]) == 2)
    }
}
