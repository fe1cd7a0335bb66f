internal import Bytes
internal import Posix
internal import QueueSimulator
internal import Time

// queue-simulation real|model FIRST COUNT   runs seeds and prints how they were spread; a failing one is replayed
// queue-simulation unsynced FIRST COUNT     a disk that lies: half of the seeds must lose an acknowledged event
//
// UPLINKD_OPERATIONS=N has seeds of N operations, UPLINKD_TRACE=N prints the last N lines of what a failing one did.
// UPLINKD_GO_ON=1 names all that fail; UPLINKD_WITHOUT=lostWrite,fullDisk leaves faults out.
@main
enum QueueSimulation {
    private static let workers = 2
    private static let operations = Process.environment("UPLINKD_OPERATIONS").flatMap { Int($0) } ?? 300
    private static let tracedLines = Process.environment("UPLINKD_TRACE").flatMap { Int($0) } ?? 120

    /// Faults that are left out.
    private static let left = Set(
        (Process.environment("UPLINKD_WITHOUT") ?? "").split(separator: ",").map { String($0) })
    private static let goesOn = Process.environment("UPLINKD_GO_ON") != nil

    /// What the workers have found.
    private struct Findings {
        var next: UInt64
        let end: UInt64
        var running = QueueSimulation.workers
        var distribution = QueueDistribution()
        var broken: [(seed: UInt64, what: String, isLoss: Bool)] = []
        let stopsAtFirst: Bool
    }

    static func main() throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        guard arguments.count == 3, let first = UInt64(arguments[1]), let count = UInt64(arguments[2]),
            ["real", "model", "unsynced"].contains(arguments[0])
        else {
            say("usage: queue-simulation real|model|unsynced FIRST COUNT")
            Process.exit(64)
        }
        let kind = arguments[0]
        let start = Clock.now
        let findings = Lock(Findings(next: first, end: first + count, stopsAtFirst: kind != "unsynced" && !goesOn))
        for number in 0..<workers {
            _ = try Thread(name: "seeds-\(number)") { work(kind, findings) }
        }
        let result = findings.wait(until: { $0.running == 0 }) {
            ($0.distribution.text, $0.broken.sorted { $0.seed < $1.seed }, $0.next)
        }
        say(result.0)
        say("\(result.2 - first) seeds of \(operations) operations in \(Int((Clock.now - start).inSeconds)) s")
        Process.exit(kind == "unsynced" ? judge(result.1, count) : report(result.1, kind))
    }

    private static func life(_ kind: String, _ seed: UInt64) -> QueueLife {
        switch kind {
        case "real": QueueLife(seed: seed, of: .real, without: left)
        case "model": QueueLife(seed: seed, of: .model)
        default: QueueLife(ignoringSyncs: seed)
        }
    }

    private static func work(_ kind: String, _ findings: Lock<Findings>) {
        while let seed = take(findings) {
            let result = life(kind, seed).run(operations: operations)
            findings.with { all in
                switch result {
                case .kept(let tally): all.distribution.add(tally)
                case .broken(let what, let isLoss): all.broken.append((seed, what, isLoss))
                }
            }
        }
        findings.with { $0.running -= 1 }
        findings.wake()
    }

    private static func take(_ findings: Lock<Findings>) -> UInt64? {
        findings.with { all in
            guard all.next < all.end, !all.stopsAtFirst || all.broken.isEmpty else { return nil }
            all.next += 1
            return all.next - 1
        }
    }

    /// Replays what failed, with all that it does.
    private static func report(_ broken: [(seed: UInt64, what: String, isLoss: Bool)], _ kind: String) -> Int32 {
        for (seed, what, _) in broken {
            say("queue-simulation \(kind) \(seed) 1: \(what)")
            guard !goesOn else { continue }
            var lines: [String] = []
            _ = life(kind, seed).run(operations: operations) { lines.append($0) }
            for line in lines.suffix(tracedLines) { say(line) }
            say("queue-simulation \(kind) \(seed) 1: \(what)")
        }
        return broken.isEmpty ? 0 : 1
    }

    private static func judge(_ broken: [(seed: UInt64, what: String, isLoss: Bool)], _ count: UInt64) -> Int32 {
        let losses = broken.count { $0.isLoss }
        say("without syncs \(losses) of \(count) seeds lose an acknowledged event, \(broken.count) fail")
        return UInt64(losses) * 2 >= count ? 0 : 1
    }

    private static func say(_ text: String) { try? StandardStream.output.write(Array((text + "\n").utf8)) }
}
