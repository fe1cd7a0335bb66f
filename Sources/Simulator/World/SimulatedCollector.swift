internal import Bytes
internal import Delivery
internal import Time

/// A collector that keeps what it gets, and answers by its mood.
struct SimulatedCollector {
    /// How it behaves for a while.
    enum Mood: Hashable {
        case good
        /// It answers well, after that long.
        case slow(Duration)
        case refusing
        /// It closes the connection before it keeps anything.
        case resetting
        /// It never answers.
        case silent
        /// It keeps what it gets, then closes the connection.
        case keepingThenResetting
        case keepingThenSilent
        /// It keeps what it gets, then answers so.
        case keepingThenStatus(Int)
        case status(Int, retryAfterSeconds: Int?)
        /// Something else answers in its place.
        case portal(Int)

        var keeps: Bool {
            switch self {
            case .good, .slow, .keepingThenResetting, .keepingThenSilent, .keepingThenStatus: true
            case .refusing, .resetting, .silent, .status, .portal: false
            }
        }
    }

    /// True for an event that no request may carry, whatever the mood.
    static func isRefused(_ event: Int) -> Bool { event % 19 == 7 }

    /// What comes back.
    enum Reply {
        case answer(Int, [HeaderField])
        case portal(Int)
        case refused
        case reset
        case nothing
    }

    static let header = HeaderField(name: "X-Collector", value: "yes")

    var mood = Mood.good
    /// How often each event was kept, by its number.
    private(set) var kept: [Int: Int] = [:]
    /// Events that came again, each time counted.
    private(set) var repeats = 0

    /// Takes a request with these events; what comes back, and after how long.
    mutating func take(_ events: [Int]) -> (reply: Reply, after: Duration) {
        if mood.keeps, events.contains(where: Self.isRefused) {
            return (.answer(events.count > 6 ? 413 : 422, [Self.header]), .milliseconds(3))
        }
        switch mood {
        case .good: return (keep(events, 200), .milliseconds(2))
        case .slow(let span): return (keep(events, 202), span)
        case .refusing: return (.refused, .zero)
        case .resetting: return (.reset, .milliseconds(3))
        case .silent: return (.nothing, .zero)
        case .keepingThenResetting:
            _ = keep(events, 200)
            return (.reset, .milliseconds(3))
        case .keepingThenSilent:
            _ = keep(events, 200)
            return (.nothing, .zero)
        case .keepingThenStatus(let status): return (keep(events, status), .milliseconds(3))
        case .status(let status, let seconds):
            let wait = seconds.map { [HeaderField(name: "Retry-After", value: "\($0)")] } ?? []
            return (.answer(status, [Self.header] + wait), .milliseconds(3))
        case .portal(let status): return (.portal(status), .milliseconds(3))
        }
    }

    private mutating func keep(_ events: [Int], _ status: Int) -> Reply {
        repeats += events.count { kept[$0] != nil }
        for event in events { kept[event, default: 0] += 1 }
        return .answer(status, [Self.header])
    }

    static func mood<Random: RandomNumberGenerator>(_ random: inout Random) -> Mood {
        switch Int.random(in: 0..<20, using: &random) {
        case 0..<8: .good
        case 8: .slow(.milliseconds(Int.random(in: 100...25_000, using: &random)))
        case 9: .refusing
        case 10: .resetting
        case 11: .silent
        case 12: .keepingThenResetting
        case 13: .keepingThenSilent
        case 14: .keepingThenStatus([500, 503, 429].randomElement(using: &random) ?? 500)
        case 15:
            .status(
                [429, 503].randomElement(using: &random) ?? 503,
                retryAfterSeconds: Int.random(in: 1...120, using: &random))
        case 16: .status([408, 425, 500, 502].randomElement(using: &random) ?? 500, retryAfterSeconds: nil)
        case 17:
            .status(
                [302, 400, 401, 403, 404, 409, 413, 422, 501].randomElement(using: &random) ?? 400,
                retryAfterSeconds: nil)
        case 18: .status(511, retryAfterSeconds: nil)
        default: .portal([200, 204, 302, 401, 503].randomElement(using: &random) ?? 200)
        }
    }
}
