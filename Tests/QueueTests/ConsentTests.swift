import Bytes
import Gates
import Posix
import Queue
import Testing
import Time

/// The states of consent over restarts, crashes and damage.
@Suite struct ConsentTests {
    private let ads = LogName.consent("ads")

    @Test func whatIsKeptIsFoundAgain() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        #expect(bench.queue.recovery.consent == .whole([:]))
        let bytes = bench.queue.bytesOnDisk
        try bench.queue.keep(consent: ["ads": .deny])
        try bench.queue.keep(consent: ["metrics": .hold, "ads": .allow])
        #expect(bench.queue.bytesOnDisk == bytes + 4_096)
        try bench.restart(clean: false)
        #expect(bench.queue.recovery.consent == .whole(["ads": .allow, "metrics": .hold]))
        #expect(bench.queue.recovery.strays.isEmpty)
    }

    @Test func aKeptStateSurvivesAPowerCutAndNothingLessIsDurable() throws {
        for seed in 0..<64 {
            var random = SplitMix64(seed: UInt64(seed))
            let storage = MemoryStorage()
            let bench = try Bench(storage)
            try bench.queue.keep(consent: ["ads": .hold])
            storage.calls = []
            let failing = Int(random.next() % 6)
            storage.fault = { _ in storage.calls.count > failing ? .io : nil }
            let isKept = (try? bench.queue.keep(consent: ["ads": .deny])) != nil
            storage.fault = nil
            storage.crash(&random)
            try bench.restart(clean: false)
            guard case .whole(let states) = bench.queue.recovery.consent else {
                Issue.record("\(seed): lost")
                continue
            }
            let state = try #require(states["ads"])
            #expect(state == .deny || !isKept && state == .hold, "\(seed)")
        }
    }

    @Test func everyDamagedByteHoldsAllCategoriesThatWereEverUsed() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        bench.commit(ads)
        try bench.queue.keep(consent: ["metrics": .allow, "crash-reports": .deny])
        bench.queue.close()
        let good = try #require(storage.files["consent"]).bytes
        for at in [0, 5, 8, 12, 16, 20, 21, 25, 55, 60, 70, 96, 4_095] {
            storage.files["consent"]?.bytes = good
            storage.files["consent"]?.bytes[at] ^= 0x10
            try bench.restart(clean: false)
            guard case .lost(let named) = bench.queue.recovery.consent else {
                Issue.record("the byte at \(at) is not missed")
                continue
            }
            var expected: Set = ["ads", "metrics", "crash-reports"]
            if (16..<56).contains(at) { expected.remove("crash-reports") }
            if (56..<96).contains(at) { expected.remove("metrics") }
            #expect(named == expected, "\(at)")
        }
        for length in [0, 15, 40, 4_095] {
            storage.files["consent"]?.bytes = Array(good.prefix(length))
            try bench.restart(clean: false)
            guard case .lost(let named) = bench.queue.recovery.consent else {
                Issue.record("\(length) bytes are not all")
                continue
            }
            #expect(named.contains("ads"))
        }
    }

    @Test func whatIsLostIsSetAsideAndHeldForGood() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        bench.commit(ads)
        try bench.queue.keep(consent: ["metrics": .deny])
        storage.files["consent"]?.bytes[4_000] = 1
        let damaged = try #require(storage.files["consent"]).bytes
        try bench.restart(clean: false)
        // The first try fails; what comes then must not forget what is on hold.
        storage.fault = { $0 == .open("consent.new") ? .io : nil }
        #expect(throws: QueueError.self) { try bench.queue.keep(consent: ["ads": .hold, "named": .hold]) }
        storage.fault = nil
        bench.commit(.consent("other"))
        #expect(storage.files["consent"]?.bytes == damaged, "no log of a category makes a new one")
        try bench.queue.keep(consent: ["ads": .allow])
        try bench.restart(clean: false)
        let kept: [String: ConsentState] = ["ads": .allow, "metrics": .hold, "named": .hold, Consent.others: .hold]
        #expect(bench.queue.recovery.consent == .whole(kept))
        #expect(storage.files["quarantine/consent"]?.bytes == damaged)
    }

    /// A failed sync of the directory leaves the new file there, and what was before in force.
    @Test func whatIsSetAgainAfterAFailureIsWrittenAgain() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        try bench.queue.keep(consent: ["ads": .hold])
        storage.fault = { $0 == .synchroniseDirectory("") ? .io : nil }
        #expect(throws: QueueError.self) { try bench.queue.keep(consent: ["ads": .allow]) }
        storage.fault = nil
        try bench.queue.keep(consent: ["ads": .hold])
        try bench.restart(clean: false)
        #expect(bench.queue.recovery.consent == .whole(["ads": .hold]))
    }

    @Test func aMissingFileBesideALogOfACategoryIsLost() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        bench.commit(.normal)
        #expect(storage.files["consent"] == nil)
        bench.commit(ads)
        #expect(storage.files["consent"] != nil, "it comes before the log")
        try bench.restart(clean: false)
        #expect(bench.queue.recovery.consent == .whole([:]))
        storage.files["consent"] = nil
        for _ in 0..<2 {
            try bench.restart(clean: false)
            #expect(bench.queue.recovery.consent == .lost(named: ["ads"]))
        }
        storage.files["consent"] = nil
        storage.files["cursors"] = nil
        storage.fault = { $0 == .names("logs") ? .io : nil }
        try bench.restart(clean: false)
        #expect(bench.queue.recovery.consent == .lost(named: []), "nothing is known of what there is")
    }

    @Test func verifyNamesADamagedFile() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        bench.commit(ads)
        bench.queue.close()
        #expect(try Inspection(storage).verify().damages.isEmpty)
        storage.files["consent"]?.bytes[77] ^= 1
        let damages = try Inspection(storage).verify().damages
        #expect(damages.map(\.path) == ["consent"] && damages.map(\.length) == [4_096])
    }

    @Test func aFileThatCannotBeReadIsLost() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        bench.commit(ads)
        try bench.queue.keep(consent: ["ads": .allow])
        storage.fault = { $0 == .read("consent", 0) ? .io : nil }
        try bench.restart(clean: false)
        #expect(bench.queue.recovery.consent == .lost(named: ["ads"]))
        #expect(bench.queue.recovery.failures.count == 1)
    }

    @Test func aLogThatCouldNotBeReadIsPurgedAllTheSame() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        bench.commit(ads, batches: [5])
        storage.fault = { $0 == .names("logs/consent-ads") ? .io : nil }
        try bench.restart(clean: false)
        #expect(throws: QueueError.self) { try bench.queue.purge(log: ads) }
        storage.fault = nil
        #expect(try bench.queue.purge(log: ads) == 5)
        for (_, event) in bench.accepted[ads] ?? [:] {
            #expect(!storage.files.values.contains { $0.bytes.holds(event) })
        }
    }

    @Test func anEventThatWasDeliveredIsGoneFromRecycledFilesToo() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        for turn in 1...6 {
            for _ in 0..<17 { bench.commit(.normal, batches: [1]) }
            if turn < 6 { _ = try bench.drain() }
            bench.housekeep(from: Int64(turn) * 100_000_000_000)
        }
        let queued = try #require(bench.queue.cursor(destination: "main", log: .normal)?.low)
        let gone = (bench.accepted[.normal] ?? [:]).filter { entry in
            entry.key < queued && storage.files.values.contains { $0.bytes.holds(entry.value) }
        }
        let epoch = try #require(try bench.queue.read(.normal, for: "main", from: 1, limit: 1, age: 0)?.epoch)
        let oldest = try #require(bench.queue.snapshot.logs.first?.oldest)
        let old = gone.filter { $0.key < oldest }
        #expect(!old.isEmpty, "some are in recycled files only")
        for (sequence, event) in old {
            _ = try bench.queue.purge(id: EventID(epoch: epoch, sequence: sequence))
            #expect(!storage.files.values.contains { $0.bytes.holds(event) }, "\(sequence)")
        }
        #expect(try bench.drain().events.count == 17)
    }
}
