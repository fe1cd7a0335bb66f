internal import Bytes
internal import HTTP1
internal import Queue

/// The answers of an HTTP connection, in the order of its requests.
struct HTTPAnswers {
    /// A request whose events wait for their commit.
    struct Taken {
        let first: Position
        let last: Position
        /// Events that wait, and events that were durable before.
        let count: Int
        let duplicates: Int
        let keepsAlive: Bool
    }

    /// What a commit has settled.
    struct Counts {
        /// Events.
        var accepted: UInt64 = 0
        var duplicates: UInt64 = 0
        /// Requests.
        var refused: UInt64 = 0
    }

    private enum Entry {
        case taken(Taken)
        case ready([UInt8])
    }

    /// As many requests may wait as that.
    static let limit = 32

    private var waiting: [Entry] = []

    /// No more can wait.
    var isFull: Bool { waiting.count >= Self.limit }

    /// Nothing waits.
    var isEmpty: Bool { waiting.isEmpty }

    /// Notes a request that waits for its commit.
    mutating func add(_ taken: Taken) { waiting.append(.taken(taken)) }

    /// Answers a request, at once or behind those that wait.
    mutating func add(ready bytes: [UInt8], to output: inout [UInt8]) {
        if waiting.isEmpty { output += bytes } else { waiting.append(.ready(bytes)) }
    }

    /// Writes what a commit has settled.
    mutating func settle(_ settlement: Settlement, to output: inout [UInt8]) -> Counts {
        var counts = Counts()
        var done = 0
        for (index, entry) in waiting.enumerated() {
            var bytes: [UInt8] = []
            switch entry {
            case .ready(let ready): bytes = ready
            case .taken(let taken):
                guard let first = settlement.outcome(of: taken.first) else { continue }
                let last = settlement.outcome(of: taken.last) ?? first
                switch (first, last) {
                case (.durable(let epoch, let start), .durable(let lastEpoch, let lastStart)):
                    counts.accepted += UInt64(taken.count)
                    counts.duplicates += UInt64(taken.duplicates)
                    Self.append(
                        taken, first: EventID(epoch: epoch, sequence: start + UInt64(taken.first.index)),
                        last: EventID(epoch: lastEpoch, sequence: lastStart + UInt64(taken.last.index)), to: &bytes)
                case (.refused(let refusal), _), (_, .refused(let refusal)):
                    counts.refused += 1
                    Problems.refused(refusal).append(to: &bytes, keepsAlive: taken.keepsAlive)
                }
            }
            if index == done {
                output += bytes
                done += 1
            } else {
                waiting[index] = .ready(bytes)
            }
        }
        waiting.removeFirst(done)
        return counts
    }

    /// The answer to a request without new events.
    static func appendNothing(duplicates: Int, keepsAlive: Bool, to output: inout [UInt8]) {
        Response.json(202, Array("{\"accepted\":0,\"duplicates\":\(duplicates)}\n".utf8)).append(
            to: &output, keepsAlive: keepsAlive)
    }

    private static func append(_ taken: Taken, first: EventID, last: EventID, to output: inout [UInt8]) {
        var body: [UInt8] = []
        body.reserveCapacity(128)
        body.append("{\"accepted\":")
        body.append(decimal: taken.count)
        body.append(",\"duplicates\":")
        body.append(decimal: taken.duplicates)
        body.append(",\"first\":\"")
        body += first.text
        body.append("\",\"last\":\"")
        body += last.text
        body.append("\"}\n")
        ResponseWriter.appendHead(
            status: 202, contentType: "application/json", framing: .length(body.count), keepsAlive: taken.keepsAlive,
            to: &output)
        output += body
    }
}
