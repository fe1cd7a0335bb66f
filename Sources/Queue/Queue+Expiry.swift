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
        guard age > start else { return false }
        return age - start >= maximumAge || seconds > 0 && age - start >= UInt64(seconds) * 1_000
    }
}

extension Queue {
    /// What has expired at an age.
    func expiry(at age: UInt64) -> Expiry {
        Expiry(age: age, maximumAge: options.maximumAge.map { UInt64(max(0, $0.milliseconds)) } ?? .max)
    }
}
