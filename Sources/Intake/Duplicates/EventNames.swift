internal import Bytes
internal import JSON
internal import Queue

/// Makes the keys that repeats are known by.
struct EventNames: Sendable {
    private enum Kind: UInt64 {
        case cloudEvent = 1
        case name
        case content
    }

    private let seed: KeyedHash.Seed

    init(seed: KeyedHash.Seed) { self.seed = seed }

    /// The key of a CloudEvent, which its `source` and `id` name (CloudEvents 1.0, "id"), whoever sends it.
    func key(of event: FoundEvent.Identity, in body: Span<UInt8>) -> DuplicateKey {
        var hash = begin(.cloudEvent)
        for value in [event.source, event.id] {
            let text = JSONText.unescaped(body, in: value.lowerBound + 1..<value.upperBound - 1)
            hash.add(UInt64(text.count))
            hash.add(text.span)
        }
        let (low, high) = hash.finish()
        return DuplicateKey(low: low, high: high)
    }

    /// The keys of the events of a request: the low half names it by user, `Idempotency-Key` and its place in the
    /// request, the high half stands for what the request holds.
    func keys(
        of events: [FoundEvent], in body: Span<UInt8>, idempotencyKey: [UInt8], user: UInt32
    ) -> [DuplicateKey] {
        var content = begin(.content)
        content.add(body)
        let high = content.finish().low
        return events.indices.map { index in
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
