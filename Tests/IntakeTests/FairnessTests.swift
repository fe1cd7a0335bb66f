import Bytes
import Testing
import Time

@testable import Intake

private let anybody: @Sendable (UInt32) -> Bool = { _ in true }

struct ServingOrderTests {
    @Test func usersTakeTurnsAndTheirConnectionsToo() {
        var order = ServingOrder()
        for number in 1...4 { order.add(UInt64(number), of: 10) }
        order.add(5, of: 20)
        order.add(6, of: 30)
        order.add(7, of: 30)
        #expect(Set(order.all) == Set(1...7) && order.holds { $0 == 30 } && !order.holds { $0 == 40 })
        let users: [UInt64: UInt32] = [1: 10, 2: 10, 3: 10, 4: 10, 5: 20, 6: 30, 7: 30]
        var served: [UInt64] = []
        while let next = order.next(anybody) {
            served.append(next.connection)
            #expect(users[next.connection] == next.user)
            order.charge(next.user, .microseconds(5))
        }
        #expect(served == [1, 5, 6, 2, 7, 3, 4] && order.isEmpty)
    }

    /// However many connections it has and however dear they are, a user gets no more time than another with one.
    @Test(arguments: [1, 2, 255], [1, 10, 700]) func manyConnectionsGetNoMoreTimeThanOne(count: Int, cost: Int) {
        var order = ServingOrder()
        for number in 0..<count { order.add(UInt64(number), of: 10) }
        order.add(1_000, of: 20)
        var time: [UInt64: Int] = [:]
        for _ in 0..<20_000 {
            guard let next = order.next(anybody) else { break }
            order.add(next.connection, of: next.user)
            let taken = next.user == 20 ? 1 : cost
            order.charge(next.user, .microseconds(taken))
            time[next.connection, default: 0] += taken
        }
        let one = time.removeValue(forKey: 1_000) ?? 0
        let many = time.values.reduce(0, +)
        #expect(abs(one - many) <= cost, "\(one) \(many)")
        #expect((time.values.max() ?? 0) - (time.values.min() ?? 0) <= cost)
    }

    @Test func nobodySavesTimeUp() {
        var order = ServingOrder()
        order.add(1, of: 10)
        for _ in 0..<1_000 {
            _ = order.next(anybody)
            order.add(1, of: 10)
            order.charge(10, .milliseconds(1))
        }
        order.add(2, of: 20)
        var first = 0
        for _ in 0..<100 {
            guard let next = order.next(anybody) else { break }
            first += next.user == 10 ? 1 : 0
            order.add(next.connection, of: next.user)
            order.charge(next.user, .milliseconds(1))
        }
        #expect((49...51).contains(first))
    }

    @Test func whoMayNotBeServedWaits() {
        var order = ServingOrder()
        order.add(1, of: 10)
        order.add(2, of: 20)
        #expect(order.next { $0 == 20 }?.connection == 2)
        order.charge(20, .milliseconds(1))
        #expect(order.next { $0 == 20 } == nil && !order.isEmpty)
        #expect(order.next(anybody)?.connection == 1)
    }
}

struct CommitShareTests {
    @Test func aUserAloneFillsACommit() {
        var share = CommitShare()
        let now = Instant(nanoseconds: 1_000_000_000)
        share.take(4_000_000, of: 10, at: now)
        #expect(share.full(at: now) == [])
        share.take(100, of: 20, at: now)
        #expect(share.full(at: now) == [10])
        share.renew()
        #expect(share.full(at: now) == [])
        share.take(CommitShare.bytes, of: 10, at: now + .seconds(1))
        #expect(share.full(at: now + .seconds(1)) == [10], "the other was there a moment ago")
        #expect(share.full(at: now + .seconds(2)) == [])
    }
}

struct UnfinishedMemoryTests {
    @Test func theLargestOfTheUserWithTheMostIsGivenUp() {
        var memory = UnfinishedMemory(limit: 100)
        #expect(memory.hold(30, by: 1, of: 10) == [] && memory.hold(40, by: 2, of: 10) == [])
        #expect(memory.hold(30, by: 3, of: 20) == [] && memory.total == 100)
        #expect(memory.hold(10, by: 4, of: 20) == [2] && memory.total == 70)
        #expect(memory.hold(31, by: 5, of: 30) == [3] && memory.total == 71)
        #expect(memory.hold(0, by: 1, of: 10) == [] && memory.total == 41)
        #expect(memory.hold(101, by: 6, of: 10) == [6] && memory.total == 41)
        #expect(memory.hold(9, by: 4, of: 20) == [] && memory.total == 40)
    }

    /// Whatever others do, who holds less than an equal share keeps it.
    @Test(arguments: 0..<20 as Range<UInt64>) func anEqualShareIsSafe(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var memory = UnfinishedMemory(limit: 1_000)
        var held: [UInt64: (user: UInt32, bytes: Int)] = [:]
        for _ in 0..<500 {
            let connection = UInt64.random(in: 0..<40, using: &random)
            let user = UInt32(connection % 4)
            let bytes = user == 0 ? Int.random(in: 0...25, using: &random) : Int.random(in: 0...400, using: &random)
            held[connection] = (user, bytes)
            for number in memory.hold(bytes, by: connection, of: user) {
                #expect(number % 4 != 0, "ten connections of 25 bytes are a quarter")
                held[number]?.bytes = 0
            }
            #expect(memory.total == held.values.reduce(0) { $0 + $1.bytes } && memory.total <= 1_000)
        }
    }
}
