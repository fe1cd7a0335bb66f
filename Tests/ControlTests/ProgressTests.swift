import Bytes
import Control
import Testing
import Time

@testable import ControlClient

struct ProgressTests {
    private final class Terminal {
        var text = ""
        func console(isTerminal: Bool) -> Console {
            Console(
                environment: { _ in nil }, isTerminal: false, showsProgress: isTerminal, isInteractive: false,
                output: { _ in }, error: { [self] in text += $0.text }, input: { _ in 0 })
        }
    }

    @Test func theLineIsGoneAtTheEnd() {
        let terminal = Terminal()
        let progress = Progress(terminal.console(isTerminal: true), "events", after: .zero)
        progress.show(1_500, of: 3_000)
        let line = "[###############...............] 50 %, 1,500 of 3,000 events"
        #expect(terminal.text == "\r" + line)
        progress.show(3_000, of: 3_000)
        #expect(terminal.text == "\r" + line, "not more often than people see")
        progress.clear()
        progress.clear()
        #expect(terminal.text == "\r" + line + "\r" + String(repeating: " ", count: line.count) + "\r")
    }

    @Test func elsewhereThanOnATerminalAndForWhatIsQuickNothingIsShown() {
        let terminal = Terminal()
        for progress in [
            Progress(terminal.console(isTerminal: false), "x", after: .zero),
            Progress(terminal.console(isTerminal: true), "x"),
        ] {
            progress.show(1, of: 2)
            progress.clear()
        }
        let progress = Progress(terminal.console(isTerminal: true), "x", after: .zero)
        progress.show(0, of: 0)
        #expect(terminal.text.isEmpty)
    }

    /// A status in which `queued` events wait and `delivered` have left.
    private func status(queued: UInt64, delivered: UInt64) throws -> StatusDocument {
        var report = StatusReport.example
        report.destinations = [report.destinations[0]]
        report.destinations[0].ledger = DestinationReport.Ledger()
        report.destinations[0].ledger.queued = queued
        report.destinations[0].ledger.delivered = delivered
        report.destinations[0].ledger.accepted = queued + delivered
        return try #require(StatusDocument(report.json))
    }

    @Test func aFlushIsWatchedUntilWhatWaitedHasLeftWhateverComesBehindIt() throws {
        let began = Instant(nanoseconds: 0)
        var draining = Draining(try status(queued: 100, delivered: 5).destinations, at: began)
        #expect(draining.total == 100)
        #expect(!draining.take(try status(queued: 500, delivered: 45), at: began + .seconds(1)))
        #expect(draining.done == 40)
        #expect(draining.take(try status(queued: 450, delivered: 105), at: began + .seconds(2)))
        #expect(draining.done == 100)
    }

    @Test func aFlushThatStandsStillIsNotWatchedForLong() throws {
        let began = Instant(nanoseconds: 0)
        var draining = Draining(try status(queued: 100, delivered: 0).destinations, at: began)
        #expect(!draining.take(try status(queued: 100, delivered: 0), at: began + .milliseconds(2_900)))
        #expect(!draining.take(try status(queued: 99, delivered: 1), at: began + .milliseconds(2_950)))
        #expect(!draining.take(try status(queued: 99, delivered: 1), at: began + .milliseconds(5_900)))
        #expect(draining.take(try status(queued: 99, delivered: 1), at: began + .milliseconds(5_950)))
    }
}
