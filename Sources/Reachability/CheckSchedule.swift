internal import Bytes
internal import Time

/// When to look next: 1, 2, 4, 8, 16 s after a trigger, then every interval; each step spread by 15 % either way.
///
/// No gap is longer than the interval: in the steady beat a step is between 85 % and 100 % of it, but for the first,
/// which is between 15 % and 100 %: machines that lost a server in the same moment must not find it again in one.
struct CheckSchedule: Sendable {
    private static let steps: [Duration] = [1, 1, 2, 4, 8].map { .seconds($0) }
    private static let restAfterReset = Duration.seconds(10)

    private var interval: Duration
    private var random: SplitMix64
    private var step = 0
    private var lastReset: Instant?
    /// Nil while turned off.
    private(set) var next: Instant?

    init(interval: Duration, seed: UInt64, now: Instant) {
        self.interval = interval
        random = SplitMix64(seed: seed)
        next = now
    }

    /// Begins the early steps again and returns true; within 10 s of the last time, only sees to it that it is on.
    mutating func reset(at now: Instant) -> Bool {
        if let lastReset, now - lastReset < Self.restAfterReset {
            turnOn(at: now)
            return false
        }
        lastReset = now
        step = 0
        next = now + gap()
        return true
    }

    /// Takes another interval; what is planned comes no later than that asks for.
    mutating func use(interval new: Duration, at now: Instant) {
        guard new != interval else { return }
        interval = new
        if let planned = next { next = min(planned, now + gap()) }
    }

    /// Goes on where it was turned off; no effect while it is on.
    mutating func turnOn(at now: Instant) {
        if next == nil { next = now + gap() }
    }

    mutating func turnOff() { next = nil }

    /// True, once, when it is time; the following time counts from the one that was planned.
    mutating func take(at now: Instant) -> Bool {
        guard let due = next, due <= now else { return false }
        let planned = due + gap()
        next = planned > now ? planned : now + gap()
        return true
    }

    private mutating func gap() -> Duration {
        let spread = Double.random(in: 0..<1, using: &random)
        let steady = interval * (0.85 + 0.15 * spread)
        guard step <= Self.steps.count else { return steady }
        step += 1
        guard step <= Self.steps.count else { return interval * (0.15 + 0.85 * spread) }
        return min(Self.steps[step - 1] * (0.85 + 0.3 * spread), steady)
    }
}
