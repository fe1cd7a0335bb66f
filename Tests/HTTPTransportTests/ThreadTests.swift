import Bytes
import HTTPTransport
import Posix
import Reactor
import Testing

@testable import Delivery

struct ThreadTests {
    /// Threads of that name; one that libcurl started would bear the name of its starter.
    private static func count(named name: String) throws -> Int {
        try FileSystem.names(in: "/proc/self/task").count { task in
            (try? FileSystem.contents(of: "/proc/self/task/\(task)/comm", limit: 64))?.text == name + "\n"
        }
    }

    @Test func transfersStartNoThread() throws {
        let counts = Lock<[Int]>([])
        let statuses = Lock<[Int?]>([])
        try Thread(name: "lone-transport") {
            do {
                let rig = try Rig()
                for host in ["collector.invalid", "localhost", "127.0.0.1", "UPPER.invalid"] {
                    let url = "http://\(host):\(rig.server.port)/"
                    let id = try rig.send(noise(200_000, seed: 13), url: url, gzipLevel: 1)
                    while rig.outcomes[id] == nil {
                        try rig.loop.turn(limit: .milliseconds(20))
                        let count = try Self.count(named: "lone-transport")
                        counts.with { $0.append(count) }
                    }
                    let status = rig.outcomes[id]?.answer?.status
                    statuses.with { $0.append(status) }
                }
            } catch {
                Issue.record(error)
            }
        }.join()
        #expect(statuses.with { $0 } == [200, 200, 200, 200])
        #expect(counts.with { Set($0) } == [1])
    }
}
