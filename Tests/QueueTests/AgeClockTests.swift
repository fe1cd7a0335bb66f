import Queue
import Testing
import Time

/// The age clock over restarts: in one boot the boot clock counts, over another the wall clock where it can be trusted.
struct AgeClockTests {
    /// The clocks when they were written down and at the start after it, wall times nil while not synchronised, and the
    /// age then.
    private struct Case: Sendable {
        let before: Int64?
        let after: Int64?
        let age: UInt64
    }

    private static let start: Int64 = 1_700_000_000_000
    private static let day: Int64 = 86_400_000
    private static let cases: [Case] = [
        Case(before: start, after: start + 5_000, age: 25_000),
        Case(before: start, after: start + day, age: 86_420_000),
        Case(before: start, after: start, age: 20_000),
        Case(before: start, after: start - 1, age: 20_000),
        Case(before: start, after: start - 7_300 * day, age: 20_000),
        Case(before: start, after: nil, age: 20_000),
        Case(before: nil, after: start, age: 20_000),
        Case(before: nil, after: nil, age: 20_000),
    ]

    private func reading(_ boot: [UInt8], _ sinceBoot: UInt64, _ wall: Int64?) -> ClockReading {
        ClockReading(boot: boot, sinceBoot: sinceBoot, wall: wall.map { WallTime(milliseconds: $0) })
    }

    @Test func overAnotherBootTimeCountsOnlyWhereBothEndsAreSynchronised() {
        for each in Self.cases {
            for boots in [([1], [2]), ([], []), ([], [1])] as [([UInt8], [UInt8])] {
                let record = ClockRecord(age: 20_000, reading(boots.0, 1_000_000, each.before))
                #expect(record.age(at: reading(boots.1, 60_000, each.after)) == each.age, "\(each), \(boots)")
            }
        }
    }

    @Test func inOneBootOnlyTheBootClockCounts() {
        for each in Self.cases {
            let record = ClockRecord(age: 20_000, reading([1], 1_000_000, each.before))
            #expect(record.age(at: reading([1], 1_007_000, each.after)) == 27_000, "\(each)")
            #expect(record.age(at: reading([1], 900_000, each.after)) == 20_000, "\(each)")
        }
    }

    @Test func aClockThatIsSetOutdatesARecord() {
        let record = ClockRecord(age: 0, reading([1], 1_000, 5_000))
        #expect(!record.isOutdated(at: reading([1], 61_000, 65_200)))
        #expect(record.isOutdated(at: reading([1], 61_000, 66_000)))
        #expect(record.isOutdated(at: reading([1], 61_000, 64_000)))
        #expect(record.isOutdated(at: reading([1], 61_000, nil)))
        let none = ClockRecord(age: 0, reading([1], 1_000, nil))
        #expect(!none.isOutdated(at: reading([1], 2_000, nil)) && none.isOutdated(at: reading([1], 2_000, 6_000)))
    }

    @Test func whatIsWrittenDownIsFoundAndMayBeMissing() throws {
        let storage = MemoryStorage()
        let bench = try Bench(storage)
        bench.commit()
        let record = ClockRecord(age: 31_000, reading(Array("0b8e".utf8), 1_000, 5_000))
        let bytes = bench.queue.bytesOnDisk
        bench.queue.keep(record)
        #expect(bench.queue.bytesOnDisk == bytes + 4_096)
        try bench.restart(clean: false)
        #expect(bench.queue.recovery.clock == record && bench.queue.recovery.strays.isEmpty)
        #expect(bench.queue.recovery.age(at: reading(Array("0b8e".utf8), 3_000, nil)) == 33_000)
        storage.files["clock"]?.bytes[9] ^= 1
        try bench.restart(clean: false)
        #expect(bench.queue.recovery.clock == nil)
        #expect(bench.queue.recovery.age(at: reading(Array("0b8e".utf8), 3_000, 9_000)) == 20_000, "the batch's")
    }

    @Test func aNewQueueBeginsAtZero() {
        #expect(RecoveryReport().age(at: reading([1], 5, Self.start)) == 0)
    }
}
