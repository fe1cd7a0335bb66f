internal import Bytes

/// What the requests of one destination carry and nobody is to read: in an answer that gives it back it is hidden.
struct Secrets: Sendable {
    private static let mask = Array("***".utf8)
    /// Header fields whose name holds one of these have a secret value.
    private static let secretNames = ["authorization", "cookie", "key", "token", "secret", "password"]
    /// A shorter word of a value hides too much that is none, bytes.
    private static let leastWord = 8

    /// Longer ones first, as one may hold another.
    private let values: [[UInt8]]

    init(_ settings: DestinationSettings) {
        let fields = settings.headers.filter { field in
            let name = Array(field.name.utf8.map(\.lowercased)).text
            return Self.secretNames.contains { name.contains($0) }
        }
        var found = Set(fields.map { Array($0.value.utf8) })
        for field in fields {
            let words = field.value.utf8.split { " ;,=".utf8.contains($0) }
            found.formUnion(words.filter { $0.count >= Self.leastWord }.map { Array($0) })
        }
        if let token = settings.token { found.insert(token) }
        if let password = settings.proxy?.password { found.insert(Array(password.utf8)) }
        values = found.filter { !$0.isEmpty }.sorted { ($0.count, $0[0]) > ($1.count, $1[0]) }
    }

    /// The bytes with `***` for each secret, also for one whose end is cut off by theirs.
    func hidden(in bytes: [UInt8]) -> [UInt8] {
        values.reduce(bytes) { text, secret in
            var result: [UInt8] = []
            var at = 0
            while at < text.count {
                let length = min(secret.count, text.count - at)
                if length >= min(secret.count, Self.leastWord), text[at..<at + length] == secret[..<length] {
                    result += Self.mask
                    at += length
                } else {
                    result.append(text[at])
                    at += 1
                }
            }
            return result
        }
    }
}
