import Bytes
import Posix
import Queue
import Testing
import Time

/// SQLite's loop over each kind of call and each error: the Nth call fails, for N = 1, 2, 3, … until none is left.
@Suite struct ErrorClassTests {
    /// A kind of call on a kind of file.
    enum Place: CaseIterable {
        case segmentWrite, segmentSync, openFile, createFolder, segmentRename, folderSync, unlink, cursorWrite
        case cursorSync, cursorRename, list, read, lock

        func matches(_ call: MemoryStorage.Call) -> Bool {
            switch (self, call) {
            case (.segmentWrite, .write(let path, _)), (.segmentSync, .synchronise(let path)),
                (.segmentRename, .rename(_, let path)):
                path.hasPrefix("logs/")
            case (.cursorWrite, .write(let path, _)), (.cursorSync, .synchronise(let path)),
                (.cursorRename, .rename(_, let path)):
                path.hasPrefix("cursors")
            case (.openFile, .open), (.createFolder, .createDirectory), (.folderSync, .synchroniseDirectory),
                (.unlink, .unlink), (.list, .names), (.read, .read), (.lock, .lock):
                true
            default: false
            }
        }
    }

    private static let errors = [
        Errno.noSpace, .quota, .fileTooLarge, .readOnly, Errno(code: 24), .io, .permission, .noEntry,
    ]
    private static let isThorough = Process.environment("UPLINKD_THOROUGH_TESTS") != nil

    /// The first calls, and of the later ones a few.
    private static func isTried(_ n: Int) -> Bool { isThorough || n < 3 || n % 11 == 5 }

    private static var options: QueueOptions {
        var options = QueueOptions(maximumBytes: 4 << 20, keepFree: .bytes(0), block: 512)
        (options.firstSegmentBytes, options.segmentBytes) = (8 << 10, 8 << 10)
        return options
    }

    private func bench() throws -> Bench {
        try Bench(MemoryStorage(physicalBlock: 512), Self.options, destinations: ["main", "idle"])
    }

    /// Has the calls at a place fail from the Nth on, or only that one; returns how many there were at last.
    private func arm(_ storage: MemoryStorage, _ place: Place, _ n: Int, _ errno: Errno, forGood: Bool) -> () -> Int {
        var count = 0
        storage.fault = { call in
            guard place.matches(call) else { return nil }
            count += 1
            return count == n + 1 || (forGood && count > n) ? errno : nil
        }
        return { count }
    }

    /// What must hold once the disk is good again.
    private func checkCure(_ bench: Bench, _ storage: MemoryStorage, _ what: String) throws {
        storage.fault = nil
        let start = Instant(nanoseconds: 1_000_000_000_000)
        var now = start
        while bench.queue.snapshot.storage != .good, now < start + .seconds(10) {
            _ = bench.queue.housekeep(at: now, age: bench.age)
            now = now + .milliseconds(500)
        }
        #expect(bench.queue.snapshot.storage == .good, "\(what): \(bench.queue.condition)")
        guard case .committed? = bench.commit(batches: [1]).first else {
            Issue.record("\(what): nothing is taken after the cure")
            return
        }
        try bench.queue.synchroniseCursors()
        bench.checkSums()
        var random = SplitMix64(seed: 7)
        storage.crash(&random)
        try bench.restart(clean: false)
        let idle = try bench.drain(to: "idle")
        let missing = bench.accepted[.normal]?.filter { idle.events[$0.key] != $0.value }.keys.sorted() ?? []
        #expect(missing.isEmpty, "\(what): \(missing) of what was acknowledged is lost")
    }

    /// An error names what was done to which file.
    private func check(_ outcomes: [CommitOutcome], _ errno: Errno, _ what: String) {
        guard case .refused(let error)? = outcomes.first else { return }
        switch error {
        case .failed(_, let path, let offset, errno): #expect(path.hasPrefix("/queue") && offset >= 0, "\(what)")
        default: Issue.record("\(what): \(error)")
        }
    }

    @Test(arguments: Place.allCases) func whileItRuns(place: Place) throws {
        for forGood in [false, true] {
            var isOver = false
            for n in 0..<400 where Self.isTried(n) && !isOver {
                let errno = Self.errors[n % Self.errors.count]
                let what = "call \(n) for \(place), \(errno.name), for good: \(forGood)"
                let bench = try bench()
                guard let storage = bench.storage as? MemoryStorage else { return }
                storage.writesHalf = n % 2 == 1
                let count = arm(storage, place, n, errno, forGood: forGood)
                for turn in 0..<12 {
                    check(bench.commit(batches: [2, 1], length: 400), errno, what)
                    _ = try? bench.drain()
                    _ = bench.queue.housekeep(at: Instant(nanoseconds: Int64(turn) * 2_000_000_000), age: bench.age)
                }
                isOver = count() <= n
                try checkCure(bench, storage, what)
            }
            #expect(isOver || place == .lock, "the loop did not come to its end")
        }
    }

    @Test(arguments: Place.allCases) func whileItStarts(place: Place) throws {
        for forGood in [false, true] {
            var isOver = false
            for n in 0..<200 where Self.isTried(n) && !isOver {
                for errno in Self.isThorough ? Self.errors : [Self.errors[(n + 5) % 8], Self.errors[n % 8]] {
                    let what = "call \(n) of a start for \(place), \(errno.name), for good: \(forGood)"
                    let bench = try bench()
                    guard let storage = bench.storage as? MemoryStorage else { return }
                    for _ in 0..<6 { bench.commit(batches: [2, 1], length: 400) }
                    _ = try bench.drain()
                    bench.commit(batches: [2, 1], length: 400)
                    let count = arm(storage, place, n, errno, forGood: forGood)
                    do throws(QueueError) {
                        try bench.restart(clean: false)
                        check(bench.commit(batches: [1]), errno, what)
                        _ = try? bench.drain()
                    } catch {
                        #expect(error.endsStart, "\(what): \(error)")
                        storage.fault = nil
                        try bench.restart(clean: false)
                    }
                    isOver = count() <= n
                    try checkCure(bench, storage, what)
                }
            }
            #expect(isOver, "the loop did not come to its end")
        }
    }
}
