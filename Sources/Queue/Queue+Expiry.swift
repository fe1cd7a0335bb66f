internal import Time

/// Which events are too old to be sent.
struct Expiry {
    /// The age clock now, milliseconds.
    let age: UInt64
    /// The most that any event may have, milliseconds.
    let maximumAge: UInt64

    /// Nothing is too old.
    static let never = Expiry(age: 0, maximumAge: .max)

    /// True for an event that was made durable at an age, with a time to live in seconds, 0 for none.
    func isOver(madeDurableAt start: UInt64, timeToLive seconds: UInt32) -> Bool {
        end(madeDurableAt: start, timeToLive: seconds) <= age
    }

    /// When such an event expires, by the age clock in milliseconds; `UInt64.max`: never.
    func end(madeDurableAt start: UInt64, timeToLive seconds: UInt32) -> UInt64 {
        let span = min(maximumAge, seconds > 0 ? UInt64(seconds) * 1_000 : .max)
        let (end, overflow) = start.addingReportingOverflow(span)
        return overflow ? .max : end
    }
}

extension Queue {
    /// What has expired at an age.
    func expiry(at age: UInt64) -> Expiry {
        Expiry(age: age, maximumAge: options.maximumAge.map { UInt64(max(0, $0.milliseconds)) } ?? .max)
    }
}
