import Bytes
import Gates
import Reachability
import Testing
import Time

struct GatesTests {
    private let start = Instant(nanoseconds: 1_000)

    @Test func theClosedGateOfTheLowestValueCounts() {
        var gates = Gates()
        #expect(gates.current == nil)
        _ = gates.set(.storage, closed: true, at: start)
        _ = gates.set(.paused, closed: true, at: start + .seconds(1))
        #expect(gates.current == .paused)
        _ = gates.set(.connectivity, closed: true, at: start + .seconds(2))
        #expect(gates.current == .connectivity)
        _ = gates.set(.connectivity, closed: false, at: start + .seconds(3))
        #expect(gates.current == .paused)
        #expect(gates.since(.paused) == start + .seconds(1))
        #expect(gates.since(.connectivity) == nil)
    }

    @Test func repeatsChangeNothing() {
        var gates = Gates()
        let changes = [false, true, true, false].enumerated().map { index, closed in
            gates.set(.consent, closed: closed, at: start + .seconds(index))
        }
        #expect(changes == [false, true, false, true])
        _ = gates.set(.consent, closed: true, at: start)
        _ = gates.set(.consent, closed: true, at: start + .seconds(9))
        #expect(gates.since(.consent) == start)
        #expect(gates.isClosed(.consent))
        #expect(!gates.isClosed(.policy))
    }

    @Test func contextListsClosedGatesInOrder() {
        let context = AcceptContext(
            connectionType: .wifi, destinations: [("a", nil), ("b", .connectivity), ("c", .paused)])
        #expect(context.closed.map(\.destination) == ["b", "c"])
        #expect(context.gate(of: "a") == nil)
        #expect(context.gate(of: "b") == .connectivity)
        #expect(context.gate(of: "c") == .paused)
        #expect(AcceptContext(decoding: context.encoded) == context)
    }

    @Test func damagedContextsAreRefused() {
        let context = AcceptContext(
            connectionType: .cellular, destinations: [("one", .destination), ("two", .storage)])
        let bytes = context.encoded
        for count in 0..<bytes.count { #expect(AcceptContext(decoding: Array(bytes.prefix(count))) == nil) }
        #expect(AcceptContext(decoding: bytes + [0]) == nil)
        for (place, value) in [(0, UInt8(200)), (1, 17), (2, 0), (3, 33)] {
            var damaged = bytes
            damaged[place] = value
            #expect(AcceptContext(decoding: damaged) == nil)
        }
    }
}
