internal import Posix

/// Batches on their way from one thread to another; whoever takes them has their storage alone.
///
/// As they are filled and sealed in place, a second owner would cost a copy of all their bytes.
package final class BatchHandover: Sendable {
    private let batches: Lock<[OpenBatch]>

    /// Gives away `batches`, of which the caller keeps nothing.
    package init(_ batches: consuming [OpenBatch]) { self.batches = Lock(batches) }

    /// Takes them; empty where that was done before.
    package func take() -> [OpenBatch] {
        batches.with { held in
            var taken: [OpenBatch] = []
            swap(&taken, &held)
            return taken
        }
    }
}
