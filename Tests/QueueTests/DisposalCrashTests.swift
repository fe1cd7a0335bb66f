import Bytes
import Posix
import Queue
import Testing
import Time

/// Dead letters and purges among everything else, with failing disks, kills and power cuts: whatever was accepted is
/// delivered, or a dead letter, or was to be purged; and what was purged is gone.
@Suite struct DisposalCrashTests {
    @Test func everyEventIsAccountedFor() throws {
        let isThorough = Process.environment("UPLINKD_THOROUGH_TESTS") != nil
        let start = Process.environment("UPLINKD_DISPOSAL_SEED").flatMap { UInt64($0) }
        let first = start ?? UInt64.random(in: 0...UInt64.max / 2)
        let count: UInt64 = start != nil ? 1 : isThorough ? 2_000 : 8
        for seed in first..<first + count { try Life(seed: seed).run() }
    }

    private final class Life {
        let seed: UInt64
        let storage = MemoryStorage()
        let bench: Bench
        var random: SplitMix64
        let log = LogName.consent("metrics")
        /// Events that were to be purged, by the calls that said it was done and by all.
        var purged: Set<UInt64> = []
        var perhapsPurged: Set<UInt64> = []
        var perhapsDropped: [String: Set<UInt64>] = [:]
        var given: [String: Set<UInt64>] = [:]
        var ids: [UInt64: EventID] = [:]

        init(seed: UInt64) throws {
            self.seed = seed
            random = SplitMix64(seed: seed)
            storage.writesHalf = Bool.random(using: &random)
            var options = Bench.smallSegments
            options.segmentBytes = 32_768
            options.firstSegmentBytes = 16_384
            bench = try Bench(storage, options, destinations: ["a", "b"], seed: seed)
        }

        func run() throws {
            for _ in 0..<5 {
                for _ in 0..<Int.random(in: 3...14, using: &random) {
                    fail(in: Int.random(in: 1...300, using: &random))
                    do { try step() } catch is QueueError {}
                    storage.fault = nil
                }
                if Bool.random(using: &random) { storage.crash(&random) } else { unlock() }
                try bench.restart(clean: false)
                try check()
            }
            storage.fault = nil
            for destination in bench.destinations {
                while try read(destination, limit: 1 << 20, buries: false) {}
            }
            try check()
            checkEnd()
        }

        private func fail(in calls: Int) {
            var left = calls
            let stops = Bool.random(using: &random)
            storage.fault = { _ in
                left -= 1
                return left < 0 && (stops || left == -1) ? .io : nil
            }
        }

        private func unlock() { for node in storage.files.values { node.isLocked = false } }

        private func step() throws {
            let destination = Bool.random(using: &random) ? "a" : "b"
            switch Int.random(in: 0..<9, using: &random) {
            case 0...2: bench.commit(log, batches: [Int.random(in: 1...5, using: &random)])
            case 3, 4: while try read(destination, limit: 900, buries: true), Bool.random(using: &random) {}
            case 5:
                let names = some(bench.queue.deadLetters(of: destination, limit: 99).map(\.name))
                perhapsDropped[destination, default: []].formUnion(names.map(\.sequence))
                _ = try bench.queue.drop(names)
            case 6:
                _ = try bench.queue.retry(some(bench.queue.deadLetters(of: destination, limit: 99).map(\.name)))
                let again = bench.queue.deadLetters(of: destination, limit: 99).filter(\.isRetried).map(\.name)
                given[destination, default: []].formUnion(again.map(\.sequence))
                try bench.queue.resolve(some(again))
            case 7:
                let wanted = some(Array(ids.keys.sorted().suffix(20)))
                perhapsPurged.formUnion(wanted)
                _ = try bench.queue.purge(ids: wanted.compactMap { ids[$0] })
                purged.formUnion(wanted)
            default:
                if Int.random(in: 0..<4, using: &random) == 0 {
                    let all = Set(bench.accepted[log]?.keys.map { $0 } ?? [])
                    perhapsPurged.formUnion(all)
                    _ = try bench.queue.purge(log: log)
                    purged.formUnion(all)
                }
                _ = bench.queue.housekeep(
                    at: Instant(nanoseconds: Int64.random(in: 0...1 << 40, using: &random)), age: bench.age)
            }
        }

        private func some<Value>(_ all: [Value]) -> [Value] {
            all.filter { _ in Int.random(in: 0..<3, using: &random) == 0 }
        }

        /// Reads for a destination and settles, with some events buried; false at the end.
        private func read(_ destination: String, limit: Int, buries: Bool) throws -> Bool {
            guard let cursor = bench.queue.cursor(destination: destination, log: log),
                let chunk = try bench.queue.read(
                    log, for: destination, from: cursor.low, limit: limit, age: bench.age)
            else { return false }
            var dead: [DeadLetter] = []
            for record in chunk.records {
                let event = Array(chunk.bytes[record.range])
                #expect(event == bench.accepted[log]?[record.sequence] || isUnanswered(record.sequence), "seed \(seed)")
                #expect(!purged.contains(record.sequence), "seed \(seed): \(record.sequence) is back")
                ids[record.sequence] = EventID(epoch: chunk.epoch, sequence: record.sequence)
                if buries, Int.random(in: 0..<4, using: &random) == 0 {
                    dead.append(
                        DeadLetter(
                            destination: destination, log: log,
                            id: EventID(epoch: chunk.epoch, sequence: record.sequence), event: event, acceptedAt: nil,
                            status: 400, attempts: 1, at: WallTime(milliseconds: 0), detail: []))
                } else {
                    given[destination, default: []].insert(record.sequence)
                }
            }
            try bench.queue.bury(dead)
            bench.queue.settle(destination: destination, log: log, chunk.dispositions(of: chunk.sequences))
            return true
        }

        /// Accepted by a commit that failed, or that a crash cut off before it was answered.
        private func isUnanswered(_ sequence: UInt64) -> Bool { bench.accepted[log]?[sequence] == nil }

        private func check() throws {
            let accepted = bench.queue.snapshot.logs.first?.accepted ?? 0
            for cursor in bench.queue.snapshot.cursors {
                #expect(cursor.origin + cursor.ledger.total + cursor.queued == accepted, "seed \(seed)")
                let letters = bench.queue.deadLetters(of: cursor.destination, limit: 999)
                let settled = letters.filter { $0.name.sequence < cursor.low }
                #expect(settled.filter { !$0.isRetried }.count == Int(cursor.ledger.dead), "seed \(seed)")
                #expect(
                    settled.filter(\.isRetried).count == Int(cursor.queued + cursor.low - 1 - accepted), "seed \(seed)")
                for letter in letters { #expect(try bench.queue.deadLetter(letter.name) != nil, "seed \(seed)") }
            }
            #expect(bench.queue.recovery.strays.isEmpty && bench.queue.recovery.cursorsReset.isEmpty, "seed \(seed)")
        }

        private func checkEnd() {
            for destination in bench.destinations {
                let letters = Set(bench.queue.deadLetters(of: destination, limit: 999).map(\.name.sequence))
                let known = letters.union(given[destination] ?? []).union(perhapsPurged)
                    .union(perhapsDropped[destination] ?? [])
                let lost = Set(bench.accepted[log]?.keys.map { $0 } ?? []).subtracting(known)
                #expect(lost.isEmpty, "seed \(seed): \(destination) lost \(lost.sorted())")
                #expect(letters.isDisjoint(with: purged), "seed \(seed)")
            }
            for sequence in purged {
                guard let event = bench.accepted[log]?[sequence] else { continue }
                let files = storage.files.filter { $0.value.bytes.holds(event) }.keys.sorted()
                #expect(files.isEmpty, "seed \(seed): \(sequence) is still in \(files)")
            }
        }
    }
}
