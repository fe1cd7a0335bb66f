internal import JSON

/// What may stand at a place of the command line, for completion.
enum Candidates: Sendable {
    case none
    case words([String])
    case files
    case directories
    /// Names that the running daemon gives; an error offers none.
    case asked(@Sendable (inout DaemonConnection) throws(ClientError) -> [String])
}

extension Candidates {
    /// The destinations that the configuration names.
    static let destinations = asked { daemon throws(ClientError) in try names(from: &daemon, areRemoved: false) }

    /// Those that it names no more, for which something is kept.
    static let removedDestinations = asked { daemon throws(ClientError) in try names(from: &daemon, areRemoved: true) }

    /// The events of the first dead letters.
    static let deadLetters = asked { daemon throws(ClientError) in
        let answer = try daemon.exchange(method: "GET", target: "/v1/dead", within: Completion.timeLimit)
        return ((try? JSONValue(parsing: answer.body))?["dead"]?.array ?? []).compactMap { $0["id"]?.string }
    }

    /// The consent categories that the daemon knows.
    static let consentCategories = asked { daemon throws(ClientError) in
        let answer = try daemon.exchange(method: "GET", target: "/v1/status", within: Completion.timeLimit)
        return StatusDocument(answer.body)?.consent.map(\.category) ?? []
    }

    /// The oldest event of each lane.
    static let oldestEvents = asked { daemon throws(ClientError) in
        let answer = try daemon.exchange(method: "GET", target: "/v1/queue", within: Completion.timeLimit)
        let logs = (try? JSONValue(parsing: answer.body))?["logs"]?.members ?? []
        return logs.compactMap { $0.value["oldest"]?["id"]?.string }
    }

    private static func names(
        from daemon: inout DaemonConnection, areRemoved: Bool
    ) throws(ClientError) -> [String] {
        let answer = try daemon.exchange(method: "GET", target: "/v1/status", within: Completion.timeLimit)
        let known = StatusDocument(answer.body)?.destinations ?? []
        return known.filter { $0.flags.contains("removed") == areRemoved }.map(\.name)
    }
}
