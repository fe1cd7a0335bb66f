internal import Bytes
internal import JSON

/// Posts pieces of input one after another, and keeps count.
struct Sender: ~Copyable {
    private let path: String
    private let target: String
    private var connection: DaemonConnection?
    private(set) var hasPosted = false
    /// Events that the daemon has made durable.
    private(set) var accepted: Int64 = 0
    private(set) var duplicates: Int64 = 0
    private(set) var firstID: String?
    private(set) var lastID: String?

    /// A sender to the events socket at `path`, which has the daemon check the values of `parameters`.
    init(_ path: String, parameters: [(name: String, value: String)]) {
        self.path = path
        let query = parameters.map { $0.name + "=" + $0.value.percentEncoded }.joined(separator: "&")
        target = "/v1/events" + (query.isEmpty ? "" : "?" + query)
    }

    /// Posts a piece and waits until the daemon has answered.
    mutating func post(_ piece: EventPiece) throws(ClientError) -> Answer {
        hasPosted = true
        var daemon: DaemonConnection
        switch connection.take() {
        case .some(let kept): daemon = kept
        case .none: daemon = try DaemonConnection(path)
        }
        let answer = try daemon.exchange(
            method: "POST", target: target, contentType: piece.contentType, body: piece.body, within: .seconds(60))
        if answer.keepsAlive { connection = consume daemon }
        if answer.status == 202, let receipt = try? JSONValue(parsing: answer.body) {
            accepted += receipt["accepted"]?.integer ?? 0
            duplicates += receipt["duplicates"]?.integer ?? 0
            firstID = firstID ?? receipt["first"]?.string?.printable
            lastID = receipt["last"]?.string?.printable ?? lastID
        }
        return answer
    }

    /// What was taken, in a line.
    var summary: String {
        let repeats = duplicates > 0 ? ", of them \(Quantity.count(duplicates)) taken before" : ""
        let range =
            switch (firstID, lastID) {
            case (let first?, let last?): first == last ? ": \(first)" : ": \(first) to \(last)"
            default: ""
            }
        return "accepted \(Quantity.count(accepted)) \(accepted == 1 ? "event" : "events")\(repeats)\(range)"
    }
}
