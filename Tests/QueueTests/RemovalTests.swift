import Posix
import Queue
import Testing

/// Destinations that are forgotten or renamed.
struct RemovalTests {
    private func bench() throws -> (MemoryStorage, Bench) {
        let storage = MemoryStorage()
        let bench = try Bench(storage, destinations: ["main", "other"])
        _ = bench.commit(.normal, batches: [5])
        bench.queue.settle(destination: "main", log: .normal, [Disposition(.delivered, 1...2)])
        bench.destinations = ["other"]
        bench.queue.use(destinations: ["other"])
        return (storage, bench)
    }

    @Test func aForgottenDestinationLeavesNothing() throws {
        let (_, bench) = try bench()
        #expect(try bench.queue.forget(destination: "main") == .done(givenUp: 3))
        for round in 0..<2 {
            #expect(bench.queue.snapshot.cursors.map(\.destination) == ["other"], "\(round)")
            #expect(bench.queue.deadLetters(limit: 9).isEmpty)
            try bench.restart(clean: false)
        }
    }

    /// Without room for a new file of cursors the old one is written over, and must not keep what is forgotten.
    @Test func aDestinationIsForgottenOnAFullDisk() throws {
        let (storage, bench) = try bench()
        storage.fault = { call in call == .open("cursors.new") ? .noSpace : nil }
        #expect(try bench.queue.forget(destination: "main") == .done(givenUp: 3))
        storage.fault = nil
        try bench.restart(clean: false)
        #expect(bench.queue.snapshot.cursors.map(\.destination) == ["other"])
        #expect(bench.queue.recovery.damagedSlots == 0)
    }

    /// What is answered with a failure has not happened.
    @Test(arguments: [true, false], [MemoryStorage.Call.synchronise("cursors.new"), .synchroniseDirectory("")])
    func aRemovalThatFailsChangesNothing(isRename: Bool, failing: MemoryStorage.Call) throws {
        let (storage, bench) = try bench()
        storage.fault = { call in call == failing ? .io : nil }
        #expect(throws: QueueError.self) {
            if isRename {
                _ = try bench.queue.rename(destination: "main", to: "new")
            } else {
                _ = try bench.queue.forget(destination: "main")
            }
        }
        storage.fault = nil
        for round in 0..<2 {
            #expect(bench.queue.snapshot.cursors.map(\.destination) == ["main", "other"], "\(round)")
            #expect(try bench.queue.read(.normal, for: "main", from: 1, limit: 9_999, age: 0)?.records.count == 3)
            try bench.queue.synchroniseCursors()
            try bench.restart(clean: false)
        }
    }

    @Test func lettersGoWithTheirDestination() throws {
        let (_, bench) = try bench()
        let refusal = EventRefusal(status: 400, attempts: 1, detail: [])
        #expect(try bench.queue.bury(3, of: .normal, for: "main", refusal, at: bench.wall) != nil)
        bench.queue.settle(destination: "main", log: .normal, [Disposition(.dead, 3...3)])
        #expect(try bench.queue.forget(destination: "main") == .done(givenUp: 3), "a letter and two events")
        try bench.restart(clean: false)
        #expect(bench.queue.deadLetters(limit: 9).isEmpty)
        #expect(bench.queue.snapshot.cursors.map(\.destination) == ["other"])
    }

    @Test func aRenamedDestinationGoesOnWhereItStood() throws {
        let (_, bench) = try bench()
        #expect(try bench.queue.rename(destination: "main", to: "new") == .done(givenUp: 0))
        for round in 0..<2 {
            let cursor = try #require(bench.queue.snapshot.cursors.first { $0.destination == "new" })
            #expect(cursor.low == 3 && cursor.ledger.delivered == 2 && cursor.queued == 3, "\(round)")
            #expect(bench.queue.snapshot.cursors.count == 2)
            bench.destinations = ["other", "new"]
            try bench.restart(clean: false)
        }
    }

    @Test func whatIsConfiguredOrUnknownOrTakenStaysAsItIs() throws {
        let (_, bench) = try bench()
        bench.destinations = []
        bench.queue.use(destinations: [])
        #expect(try bench.queue.rename(destination: "main", to: "new") == .done(givenUp: 0))
        #expect(try bench.queue.rename(destination: "main", to: "new") == .isUnknown)
        #expect(try bench.queue.rename(destination: "other", to: "new") == .isTaken)
        #expect(try bench.queue.forget(destination: "main") == .isUnknown)
        bench.destinations = ["new", "next"]
        bench.queue.use(destinations: ["new", "next"])
        #expect(try bench.queue.forget(destination: "new") == .isConfigured)
        #expect(try bench.queue.rename(destination: "new", to: "main") == .isConfigured)
        #expect(try bench.queue.rename(destination: "other", to: "next") == .isTaken)
        #expect(Set(bench.queue.snapshot.cursors.map(\.destination)) == ["new", "next", "other"])
        bench.queue.settle(destination: "new", log: .normal, [Disposition(.delivered, 3...5)])
    }

    @Test func oneWithDeadLettersKeepsItsName() throws {
        let (_, bench) = try bench()
        let refusal = EventRefusal(status: 400, attempts: 1, detail: [])
        #expect(try bench.queue.bury(3, of: .normal, for: "main", refusal, at: bench.wall) != nil)
        #expect(try bench.queue.forget(destination: "main") == .done(givenUp: 3), "its letter is one of its events yet")
        #expect(try bench.queue.bury(3, of: .normal, for: "other", refusal, at: bench.wall) != nil)
        bench.destinations = []
        bench.queue.use(destinations: [])
        #expect(try bench.queue.rename(destination: "other", to: "new") == .hasLetters)
        #expect(bench.queue.deadLetters(limit: 9).map(\.name.destination) == ["other"])
    }
}
