import Bytes
import Control
import JSON
import Posix
import Testing
import Time

@testable import ControlClient

struct QueueCommandTests {
    private let event = EventReport(
        id: "00000000000000aa-7", log: "normal", acceptedAt: WallTime(milliseconds: 1_795_849_500_000),
        age: .seconds(7_500), destinations: ["a", "b"], event: Array(#"{"n":1e3}"#.utf8))

    @Test func lanesAreListedWithTheirOldestEvent() throws {
        let logs = [
            LogReport(name: "normal", events: 12_345, bytes: 1 << 20, oldest: event),
            LogReport(name: "bulk", events: 0, bytes: 4_096, oldest: nil),
        ]
        try withDaemon(Script(answer: .logs(logs))) { (path, orders) throws in
            let console = CapturedConsole()
            #expect(console.run("queue", "ls", "--socket", path) == 0)
            let expected = """
                LANE    EVENTS  ON DISK  OLDEST     ITS ID
                normal  12,345    1 MiB  2 h 5 min  00000000000000aa-7
                bulk         0    4 KiB  -          -

                """
            #expect(console.output.text == expected)
            #expect(orders.with { $0 } == ["logs"])
            let json = CapturedConsole()
            #expect(json.run("--json", "queue", "ls", "--socket", path) == 0)
            let oldest = try JSONValue(parsing: json.output)["logs"]?["normal"]?["oldest"]
            #expect(oldest?["id"]?.string == event.id && oldest?["age_s"]?.double == 7_500)
            #expect(oldest?["accepted_at"]?.string == "2026-11-28T07:05:00.000Z" && oldest?["event"] == nil)
        }
        try withDaemon(Script(answer: .logs([]))) { (path, _) throws in
            let console = CapturedConsole()
            #expect(console.run("queue", "ls", "--socket", path) == 0)
            #expect(console.output.text == "no event was ever taken\n")
        }
    }

    @Test func anEventIsShownAsItCame() throws {
        try withDaemon(Script(answer: .event(event))) { (path, orders) throws in
            let console = CapturedConsole()
            #expect(console.run("queue", "peek", event.id, "--socket", path) == 0)
            #expect(console.output.text.contains(#""log":"normal","destinations":["a","b"],"event":{"n":1e3}}"#))
            #expect(orders.with { $0 } == [#"event(id: "00000000000000aa-7")"#])
        }
        try withDaemon(Script(answer: .unknown("no event of that id is kept in the queue"))) { (path, _) throws in
            let console = CapturedConsole()
            #expect(console.run("queue", "peek", "1-1", "--socket", path) == 1)
            #expect(console.complaints.text.contains("no event of that id is kept in the queue"))
        }
    }
}
