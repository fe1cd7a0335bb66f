import Bytes
import Posix
import Testing
import Time

@testable import Resolver

private let one = IPAddress(text: "192.0.2.1").map { [$0] } ?? []
private let two = IPAddress(text: "192.0.2.2").map { [$0] } ?? []
private let refused = LookupError(text: "no such name")

private func at(_ seconds: Int64) -> Instant { Instant(nanoseconds: seconds * 1_000_000_000) }

struct ResolverQueueTests {
    @Test(arguments: ["127.0.0.1", "::1", "2001:db8::7"])
    func aLiteralNeedsNoLookup(text: String) throws {
        var queue = ResolverQueue()
        let (begin, answer) = queue.ask(text, at: at(0))
        #expect(begin.isEmpty)
        #expect(answer?.addresses == [try #require(IPAddress(text: text))])
        #expect(queue.addresses(of: text) == answer?.addresses)
        #expect(queue.deadline == nil)
    }

    @Test func twoAtATimeInOrderOfAsking() {
        var queue = ResolverQueue()
        let begun = ["a", "b", "c", "d"].map { queue.ask($0, at: at(0)).begin }
        #expect(begun == [["a"], ["b"], [], []])
        let (next, answer) = queue.finished("b", .addresses(one), at: at(1))
        #expect(next == ["c"])
        #expect(answer == ResolverAnswer(host: "b", addresses: one, failure: nil))
    }

    @Test func severalAskersOfAHostShareALookup() {
        var queue = ResolverQueue()
        let begun = (0..<3).flatMap { _ in queue.ask("a", at: at(0)).begin }
        #expect(begun == ["a"])
    }

    @Test func silentNameServersHoldUpNobodyForLongerThanFiveSeconds() {
        var queue = ResolverQueue()
        for host in ["a", "b", "c"] { _ = queue.ask(host, at: at(0)) }
        #expect(queue.deadline == at(5))
        let (tooEarly, none) = queue.expire(at: at(4))
        #expect(tooEarly.isEmpty && none.isEmpty)
        let (begin, answers) = queue.expire(at: at(5))
        #expect(begin == ["c"])
        #expect(answers.map(\.host) == ["a", "b"])
        #expect(answers.allSatisfy { $0.failure != nil && $0.addresses.isEmpty })
    }

    /// A thread hangs in it still; another for the same host would hang as well.
    @Test func aLookupGivenUpIsWaitedForAgainRatherThanBegunTwice() {
        var queue = ResolverQueue()
        _ = queue.ask("a", at: at(0))
        _ = queue.expire(at: at(5))
        #expect(queue.deadline == nil)
        let (begin, answer) = queue.ask("a", at: at(30))
        #expect(begin.isEmpty && answer == nil)
        #expect(queue.deadline == at(35))
        let late = queue.finished("a", .addresses(one), at: at(31)).answer
        #expect(late?.addresses == one)
        let again = queue.ask("a", at: at(60)).begin
        #expect(again == ["a"])
    }

    @Test func aLateResultIsTakenThoughNobodyWaits() {
        var queue = ResolverQueue()
        _ = queue.ask("a", at: at(0))
        _ = queue.expire(at: at(5))
        let late = queue.finished("a", .addresses(one), at: at(20)).answer
        #expect(late?.addresses == one)
        #expect(queue.addresses(of: "a") == one)
        _ = queue.ask("b", at: at(0))
        _ = queue.expire(at: at(5))
        let failure = queue.finished("b", .failed(refused), at: at(20)).answer
        #expect(failure == nil)
    }

    @Test func addressesAreKeptUntilANewerAnswer() {
        var queue = ResolverQueue()
        _ = queue.ask("a", at: at(0))
        _ = queue.finished("a", .addresses(one), at: at(0))
        _ = queue.ask("a", at: at(30))
        let failed = queue.finished("a", .failed(refused), at: at(31)).answer
        #expect(failed == ResolverAnswer(host: "a", addresses: one, failure: refused))
        #expect(queue.addresses(of: "a") == one)
        _ = queue.ask("a", at: at(60))
        _ = queue.finished("a", .addresses(two), at: at(61))
        #expect(queue.addresses(of: "a") == two)
    }

    @Test func theNumberOfHostsIsBounded() {
        var queue = ResolverQueue()
        for number in 0..<64 { _ = queue.ask("host\(number)", at: at(0)) }
        let (begin, answer) = queue.ask("another", at: at(0))
        #expect(begin.isEmpty)
        #expect(answer?.failure != nil)
    }

    /// Every question is answered, by a result or by 5 s, however lookups behave; never more than two count.
    @Test(arguments: UInt64(1)...30)
    func everyQuestionIsAnswered(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var queue = ResolverQueue()
        var running: Set<String> = []
        var asked: [String: Instant] = [:]
        var now = at(0)
        func began(_ hosts: [String]) {
            for host in hosts { #expect(running.insert(host).inserted, "seed \(seed): \(host) twice at once") }
        }
        func answered(_ answer: ResolverAnswer?) {
            guard let answer, let since = asked.removeValue(forKey: answer.host) else { return }
            // At most five hosts wait before it, two at a time, 5 s each.
            #expect(now - since <= .seconds(20), "seed \(seed): \(answer.host) waited \(now - since)")
        }
        for _ in 0..<300 {
            now = now + .milliseconds(Int.random(in: 0...1_000, using: &random))
            if let deadline = queue.deadline, deadline <= now {
                now = deadline
                let (begin, answers) = queue.expire(at: now)
                began(begin)
                answers.forEach(answered)
            }
            if Bool.random(using: &random), let host = running.sorted().randomElement(using: &random) {
                running.remove(host)
                let (begin, answer) = queue.finished(
                    host, Bool.random(using: &random) ? .addresses(one) : .failed(refused), at: now)
                began(begin)
                answered(answer)
            } else {
                let host = "host\(Int.random(in: 0..<6, using: &random))"
                if asked[host] == nil { asked[host] = now }
                let (begin, answer) = queue.ask(host, at: now)
                began(begin)
                answered(answer)
            }
        }
        while let deadline = queue.deadline {
            now = deadline
            let (begin, answers) = queue.expire(at: now)
            began(begin)
            answers.forEach(answered)
        }
        #expect(asked.isEmpty, "seed \(seed)")
    }
}
