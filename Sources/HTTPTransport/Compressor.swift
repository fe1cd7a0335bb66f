internal import Reactor
internal import Time

/// Compresses bodies on the loop, one slice of 64 KiB a turn, in the order in which they came.
final class Compressor {
    private struct Job {
        let body: [UInt8]
        let level: Int
        var compressed: [UInt8] = []
        var done = 0
        let completion: ([UInt8]) -> Void
        let key: UInt64
    }

    private static let sliceCount = 65_536
    private let loop: EventLoop
    private var jobs: [Job] = []
    private var encoder: GzipEncoder?
    private var isScheduled = false

    init(on loop: EventLoop) { self.loop = loop }

    /// Compresses a body; `completion` gets the result in a later turn, unless `cancel(key)` came first.
    func compress(_ body: [UInt8], level: Int, key: UInt64, _ completion: @escaping ([UInt8]) -> Void) {
        jobs.append(Job(body: body, level: level, completion: completion, key: key))
        schedule()
    }

    /// Forgets a body.
    func cancel(_ key: UInt64) { jobs.removeAll { $0.key == key } }

    private func schedule() {
        guard !isScheduled, !jobs.isEmpty else { return }
        isScheduled = true
        // A timer that is due now would run in this turn still.
        loop.schedule(at: loop.now + .nanoseconds(1)) { [weak self] in
            self?.isScheduled = false
            self?.compressSlice()
        }
    }

    private func compressSlice() {
        guard !jobs.isEmpty else { return }
        let begins = jobs[0].done == 0
        if encoder?.level != jobs[0].level { encoder = GzipEncoder(level: jobs[0].level) }
        if begins { encoder?.reset() }
        let end = min(jobs[0].body.count, jobs[0].done + Self.sliceCount)
        let isLast = end == jobs[0].body.count
        encoder?.compress(jobs[0].body, jobs[0].done..<end, isLast: isLast, onto: &jobs[0].compressed)
        jobs[0].done = end
        if isLast {
            let job = jobs.removeFirst()
            job.completion(job.compressed)
        }
        schedule()
    }
}
