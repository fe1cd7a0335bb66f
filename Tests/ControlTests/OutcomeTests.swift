import Bytes
import Control
import Posix
import Testing

@testable import ControlClient

/// What a command prints of what came of it.
struct OutcomeTests {
    @Test func programsAreToldOfEachDestination() throws {
        var script = Script()
        script.report.destinations[0].ledger.queued = 1
        try withDaemon(script) { (path, _) throws in
            func lines(_ command: String) -> String {
                let console = CapturedConsole()
                #expect(console.run(command, "--json", "--socket", path) == 0)
                return console.output.text
            }
            func both(_ first: String, _ second: String) -> String {
                #"{"destination":"collector","outcome":"\#(first)"}"# + "\n"
                    + #"{"destination":"backup","outcome":"\#(second)"}"# + "\n"
            }
            #expect(lines("flush") == both("tried", "no-path"))
            #expect(lines("pause") == both("paused", "paused"))
            #expect(lines("resume") == both("tried", "no-path"))
        }
        script.report.destinations[0].ledger.queued = 0
        script.report.destinations[1].state = "reachable"
        script.report.destinations[1].flags = [.paused]
        try withDaemon(script) { (path, _) throws in
            let console = CapturedConsole()
            #expect(console.run("flush", "--json", "--socket", path) == 0)
            #expect(console.output.text.contains("nothing-queued") && console.output.text.contains(#":"paused"}"#))
        }
    }

    /// Nothing is said to be tried where nothing can be.
    @Test func aResumeSaysWhereNothingIsToBeSent() throws {
        var script = Script()
        script.report.destinations[0].ledger.queued = 0
        script.report.destinations[0].flags = [.held]
        script.report.destinations[1].state = "reachable"
        script.report.destinations[1].flags = [.paused]
        script.report.destinations[1].ledger.queued = 0
        try withDaemon(script) { (path, orders) throws in
            let console = CapturedConsole()
            #expect(console.run("resume", "--socket", path) == 0)
            #expect(
                console.output.text
                    == "collector has nothing to be sent\nbackup goes on; it has nothing to be sent\n")
            #expect(orders.with { $0.count } == 2, "it is resumed all the same")
        }
    }

    @Test func whatIsEmptyIsSaid() throws {
        var script = Script()
        script.report.consent = [:]
        script.answer = .letters([], next: nil, withEvents: false)
        try withDaemon(script) { (path, _) throws in
            for (words, line) in [
                (["consent", "show"], "no category of consent is known\n"),
                (["dead", "ls"], "there is no dead letter\n"),
            ] {
                let console = CapturedConsole()
                #expect(console.run(words + ["--socket", path]) == 0)
                #expect(console.output.text == line)
            }
        }
    }

    @Test func aPurgeSaysWhereNoSuchCategoryIsKnown() throws {
        try withDaemon(Script(answer: .purged(0))) { (path, orders) throws in
            for (category, complaint) in [
                ("analytics", ""),
                (
                    "analytcs",
                    "uplinkctl: no category of consent is known as 'analytcs'; did you mean 'analytics'?\n"
                ),
            ] {
                let console = CapturedConsole()
                #expect(console.run("purge", "--consent", category, "--yes", "--socket", path) == 0)
                #expect(
                    console.output.text == "events purged: 0; no destination had anything of it, or not any more\n")
                #expect(console.complaints.text == complaint)
            }
            #expect(orders.with { $0.count } == 2)
        }
    }

    @Test func aDenialSaysWhatItDoesBeforeItAsks() {
        let console = CapturedConsole(input: ["n\n"], isInteractive: true)
        #expect(console.run("consent", "set", "ads", "deny", "--socket", "/nowhere") == 1)
        let question = "Refuse new events of ads from now on, and throw all that are kept away for good? [y/N] "
        #expect(console.complaints.text.hasPrefix(question))
    }
}
