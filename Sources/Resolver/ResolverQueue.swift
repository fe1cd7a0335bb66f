package import Bytes
package import Posix
package import Time

/// What came of a lookup.
package enum LookupResult: Hashable, Sendable {
    /// At least one address.
    case addresses([IPAddress])
    /// The name has none, or no name server answered in the system's own time.
    case failed(LookupError)
}

/// An answer for all who asked for a host.
package struct ResolverAnswer: Hashable, Sendable {
    package let host: String
    /// The newest addresses known, kept where this lookup failed; empty where none ever were.
    package let addresses: [IPAddress]
    /// Why the lookup behind this answer failed; nil where it did not.
    package let failure: LookupError?
}

/// Lookups in order of asking: two at a time, each waited for 5 s, one for each host.
///
/// A lookup cannot be stopped. Given up, it no longer counts among the two, and its late result is taken all the same;
/// until then a further question for that host waits on it instead of beginning another.
package struct ResolverQueue: Sendable {
    static let patience = Duration.seconds(5)
    static let atOnce = 2
    /// Hosts that are waiting or looked up; more than destinations and proxies can name.
    static let hostsMaximum = 64

    private enum Progress {
        case waiting
        case running(until: Instant)
        /// Given up; nobody waits.
        case abandoned
        /// Given up once, and asked for again.
        case resumed(until: Instant)

        var deadline: Instant? {
            switch self {
            case .waiting, .abandoned: nil
            case .running(let until), .resumed(let until): until
            }
        }
    }

    private var progress: [String: Progress] = [:]
    private var waiting: [String] = []
    private var known: [String: [IPAddress]] = [:]

    /// Nothing asked.
    package init() {}

    /// The newest addresses known of a host: a literal's own; empty where none are.
    package func addresses(of host: String) -> [IPAddress] {
        IPAddress(text: host).map { [$0] } ?? known[host] ?? []
    }

    /// When `expire` must be called next.
    package var deadline: Instant? { progress.values.compactMap(\.deadline).min() }

    /// Asks for a host; the hosts whose lookup begins now, and an answer where none is needed.
    package mutating func ask(_ host: String, at now: Instant) -> (begin: [String], answer: ResolverAnswer?) {
        if let literal = IPAddress(text: host) {
            return ([], ResolverAnswer(host: host, addresses: [literal], failure: nil))
        }
        switch progress[host] {
        case .waiting, .running, .resumed: return ([], nil)
        case .abandoned:
            progress[host] = .resumed(until: now + Self.patience)
            return ([], nil)
        case nil:
            guard progress.count < Self.hostsMaximum else {
                return ([], answer(host, failure: LookupError(text: "too many lookups are waiting")))
            }
            progress[host] = .waiting
            waiting.append(host)
            return (begin(at: now), nil)
        }
    }

    /// Takes the result of a lookup; the hosts whose lookup begins now, and the answer.
    package mutating func finished(
        _ host: String, _ result: LookupResult, at now: Instant
    ) -> (begin: [String], answer: ResolverAnswer?) {
        let before = progress.removeValue(forKey: host)
        switch result {
        case .addresses(let addresses):
            if known[host] == nil, known.count >= Self.hostsMaximum, let other = known.keys.min() {
                known[other] = nil
            }
            known[host] = addresses
            return (begin(at: now), answer(host, failure: nil))
        case .failed(let failure):
            if case .abandoned = before { return (begin(at: now), nil) }
            return (begin(at: now), answer(host, failure: failure))
        }
    }

    /// Gives up lookups whose time has passed; the hosts whose lookup begins now, and the answers.
    package mutating func expire(at now: Instant) -> (begin: [String], answers: [ResolverAnswer]) {
        let late = progress.filter { $0.value.deadline.map { $0 <= now } ?? false }.keys.sorted()
        for host in late { progress[host] = .abandoned }
        let failure = LookupError(text: "no answer from a name server within 5 s", isSilence: true)
        return (begin(at: now), late.map { answer($0, failure: failure) })
    }

    private mutating func begin(at now: Instant) -> [String] {
        let running = progress.values.count { if case .running = $0 { true } else { false } }
        let hosts = Array(waiting.prefix(max(0, Self.atOnce - running)))
        waiting.removeFirst(hosts.count)
        for host in hosts { progress[host] = .running(until: now + Self.patience) }
        return hosts
    }

    private func answer(_ host: String, failure: LookupError?) -> ResolverAnswer {
        ResolverAnswer(host: host, addresses: known[host] ?? [], failure: failure)
    }
}
