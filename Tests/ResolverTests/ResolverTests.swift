import Bytes
import Posix
import Resolver
import Testing
import Time

/// Lookups that hang until they are let go.
private final class StuckLookups: Sendable {
    let isFree = Lock(false)
    let reports = Lock<[Resolver.Report]>([])

    func lookUp(_ host: String) -> LookupResult {
        if host.hasPrefix("stuck") { isFree.wait(until: { $0 }) { _ in } }
        return IPAddress(text: "192.0.2.1").map { .addresses([$0]) } ?? .failed(LookupError(text: "none"))
    }

    func post(_ report: Resolver.Report) {
        reports.with { $0.append(report) }
        reports.wake()
    }

    func next() -> Resolver.Report? {
        reports.wait(until: { !$0.isEmpty }, atMost: .seconds(10)) { $0.isEmpty ? nil : $0.removeFirst() }
    }

    func free() {
        isFree.with { $0 = true }
        isFree.wake()
    }
}

struct ResolverTests {
    @Test func lookupsThatHangHoldUpNeitherOthersNorTheEnd() throws {
        let stuck = StuckLookups()
        defer { stuck.free() }
        let resolver = Resolver(lookUp: { stuck.lookUp($0) }, post: { stuck.post($0) })
        let began = Clock.now
        for host in ["stuck-1", "stuck-2", "good"] { #expect(resolver.resolve(host, at: began) == nil) }
        let deadline = try #require(resolver.deadline)
        #expect(deadline == began + .seconds(5))
        // The receiver's clock decides; nobody waits for five seconds here.
        let givenUp = resolver.expire(at: deadline)
        #expect(Set(givenUp.map(\.host)) == ["stuck-1", "stuck-2"])
        #expect(givenUp.allSatisfy { $0.failure != nil })
        let report = try #require(stuck.next())
        let answer = try #require(resolver.receive(report, at: deadline))
        #expect(answer.host == "good")
        #expect(answer.addresses == resolver.addresses(of: "good"))
        #expect(answer.failure == nil)
    }

    @Test func aLookupThatCameFreeIsHeardLate() throws {
        let stuck = StuckLookups()
        let resolver = Resolver(lookUp: { stuck.lookUp($0) }, post: { stuck.post($0) })
        _ = resolver.resolve("stuck", at: Instant(nanoseconds: 0))
        #expect(resolver.expire(at: Instant(nanoseconds: 5_000_000_000)).count == 1)
        stuck.free()
        let report = try #require(stuck.next())
        #expect(resolver.receive(report, at: Instant(nanoseconds: 6_000_000_000))?.addresses.count == 1)
        #expect(resolver.addresses(of: "stuck").count == 1)
    }

    /// The process ends while a lookup hangs, also by a return from main.
    @Test func theProcessEndsWhileALookupHangs() async {
        await #expect(processExitsWith: .success) {
            let stuck = StuckLookups()
            let resolver = Resolver(lookUp: { stuck.lookUp($0) }, post: { stuck.post($0) })
            _ = resolver.resolve("stuck", at: Clock.now)
            Clock.sleep(.milliseconds(20))
            Process.exit(0)
        }
    }

    @Test func theSystemKnowsThisMachine() {
        guard case .addresses(let addresses) = Resolver.system("localhost") else {
            return #expect(Bool(false), "localhost has no address")
        }
        #expect(!addresses.contains { !$0.isLoopback })
    }

    @Test func aNameThatCannotBeIsAFailure() {
        guard case .failed(let failure) = Resolver.system("no-such-name.invalid.") else {
            return #expect(Bool(false), "a reserved name has an address")
        }
        #expect(!failure.text.isEmpty)
    }
}
