internal import Bytes
internal import JSON
internal import Queue

/// Makes the keys that repeats are known by.
struct EventNames: Sendable {
    /// Queues have keys made in other ways under 1 to 3, which nothing made now is to be compared with.
    private enum Kind: UInt64 {
        case cloudEvent = 4
        case name
        case content
    }

    private let seed: KeyedHash.Seed

    init(seed: KeyedHash.Seed) { self.seed = seed }

    /// The key of a CloudEvent, which its `source` and `id` name (CloudEvents 1.0, "id") among those of its user, so
    /// that nobody takes a name away from another; none where it is not certain what they are.
    func key(of event: FoundEvent.Identity, in body: Span<UInt8>, user: UInt32) -> DuplicateKey {
        guard event.isCertain else { return .none }
        var hash = begin(.cloudEvent)
        hash.add(UInt64(user))
        for value in [event.source, event.id] {
            let text = JSONText.unescaped(
                body, in: value.lowerBound + 1..<value.upperBound - 1, loneSurrogates: .kept)
            hash.add(UInt64(text.count))
            hash.add(text.span)
        }
        let (low, high) = hash.finish()
        return DuplicateKey(low: low, high: high)
    }

    /// The keys of the events of a request: the low half names it by user, `Idempotency-Key` and its place in the
    /// request, the high half stands for what the request holds and asks for.
    func keys(
        of request: EventRequest, _ body: Span<UInt8>, events: Int, _ idempotencyKey: [UInt8], user: UInt32
    ) -> [DuplicateKey] {
        var content = begin(.content)
        let log = Array(request.parameters.log.text.utf8)
        content.add(UInt64(log.count))
        content.add(log.span)
        content.add(UInt64(request.parameters.timeToLiveSeconds))
        content.add(request.form.rawValue)
        content.add(body)
        let high = content.finish().low
        return (0..<events).map { index in
            var name = begin(.name)
            name.add(UInt64(user))
            name.add(UInt64(index))
            name.add(idempotencyKey.span)
            return DuplicateKey(low: name.finish().low, high: high)
        }
    }

    private func begin(_ kind: Kind) -> KeyedHash {
        var hash = KeyedHash(seed)
        hash.add(kind.rawValue)
        return hash
    }
}
