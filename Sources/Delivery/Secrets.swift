internal import Bytes

/// What the requests of one destination carry and nobody is to read: in an answer that gives it back it is hidden.
struct Secrets: Sendable {
    private static let mask = Array("***".utf8)
    /// Header fields, and members of a query, whose name holds one of these have a secret value.
    private static let secretNames = ["authorization", "cookie", "key", "token", "secret", "password", "sig"]
    /// A shorter word of a value hides too much that is none, bytes.
    private static let leastWord = 8

    /// Longer ones first, as one may hold another.
    private let values: [[UInt8]]

    init(_ settings: DestinationSettings) {
        let fields = settings.headers.filter { Self.isSecret($0.name) }
        var found = Set(fields.map { Array($0.value.utf8) })
        for field in fields {
            let words = field.value.utf8.split { " ;,=".utf8.contains($0) }
            found.formUnion(words.filter { $0.count >= Self.leastWord }.map { Array($0) })
        }
        if let token = settings.token { found.insert(token) }
        if let password = settings.proxy?.password {
            found.insert(Array(password.utf8))
            // As the field `Proxy-Authorization` has them (RFC 7617).
            found.insert(Base64.digits(of: Array("\(settings.proxy?.user ?? ""):\(password)".utf8)))
        }
        for url in [settings.url, settings.checkURL].compactMap({ $0 }) { found.formUnion(Self.values(inQueryOf: url)) }
        values = found.filter { !$0.isEmpty }.sorted { ($0.count, $0[0]) > ($1.count, $1[0]) }
    }

    private static func isSecret(_ name: String) -> Bool {
        let name = name.utf8.map(\.lowercased)
        return secretNames.contains { name.holds($0.utf8) }
    }

    /// The values of a query that are long enough, whatever their names, or are named as secrets; also decoded.
    private static func values(inQueryOf url: DestinationURL) -> [[UInt8]] {
        guard let mark = url.path.utf8.firstIndex(of: UInt8(ascii: "?")) else { return [] }
        let members = url.path.utf8[mark...].dropFirst().split(separator: UInt8(ascii: "&"))
        return members.flatMap { member -> [[UInt8]] in
            let halves = member.split(separator: UInt8(ascii: "="), maxSplits: 1).map { Array($0) }
            guard let value = halves.last, value.count >= leastWord || isSecret(halves[0].text) && halves.count == 2
            else { return [] }
            return [value, percentDecoded(value)].compactMap { $0 }
        }
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
