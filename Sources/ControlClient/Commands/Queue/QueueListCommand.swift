internal import Bytes
internal import JSON
internal import Time

extension Command {
    static let queueList = Command(
        name: "queue ls", operand: nil, options: [],
        summary: "what is queued in each lane",
        details: """
            Shows for each lane, or category of consent, how many events some destination
            still has to get, the room they take on disk, and how old the oldest is, with
            the id by which 'uplinkctl queue peek' shows it.
            """
    ) { invocation, console in
        console.ask("GET", "/v1/queue", for: invocation) { answer in
            let logs = answer["logs"]?.members ?? []
            guard !logs.isEmpty else { return "no event was ever taken" }
            let titles = ["LANE", "EVENTS", "ON DISK", "OLDEST", "ITS ID"]
            return Table(titles, logs.map { row($0.name, $0.value) }, numbers: [1, 2]).lines.joined(separator: "\n")
        }
    }

    private static func row(_ name: String, _ log: JSONValue) -> [String] {
        let age = log["oldest"]?["age_s"]?.double.map { Quantity.duration(.milliseconds(Int64($0 * 1_000))) }
        return [
            name.printable, Quantity.count(log["events"]?.integer ?? 0), Amount.bytes(log["bytes"]?.integer ?? 0),
            age ?? "-", log["oldest"]?["id"]?.string?.printable ?? "-",
        ]
    }
}
