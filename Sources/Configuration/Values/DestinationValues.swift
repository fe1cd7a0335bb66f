internal import Time

extension ValueKind where Value == DestinationSection.Compression {
    /// `gzip`, `gzip:LEVEL` or `none`.
    static let compression = ValueKind(
        { text throws(BadValue) in
            switch text {
            case "none": return .none
            case "gzip": return .gzip(level: 1)
            default:
                let levels = (1...9).map { "gzip:\($0)" }
                guard let index = levels.firstIndex(of: text) else {
                    throw BadValue("'\(text)' is not gzip, gzip:LEVEL with a level from 1 to 9, or none")
                }
                return .gzip(level: index + 1)
            }
        },
        show: { compression in
            switch compression {
            case .none: "none"
            case .gzip(let level): level == 1 ? "gzip" : "gzip:\(level)"
            }
        })
}

extension ValueKind where Value == DestinationSection.FlushSpread {
    /// `auto`, or a span of time up to an hour.
    static let flushSpread = ValueKind(
        { text throws(BadValue) in
            if text == "auto" { return .automatic }
            return .limit(try ValueKind<Duration>.duration(.zero ... .seconds(3_600)).parse(text))
        },
        show: { spread in
            switch spread {
            case .automatic: "auto"
            case .limit(let span): span.spanText
            }
        })
}

extension ValueKind where Value == [DestinationSection.NetworkTypes] {
    private static let lanes = ["urgent", "normal", "bulk"]
    private static let types = connectionTypes + ["unknown"]

    /// `wifi ethernet` for all lanes, `bulk:wifi,ethernet` for one.
    static let networkTypes = ValueKind(
        { text throws(BadValue) in
            var general: [String] = []
            var own: [DestinationSection.NetworkTypes] = []
            for (word, offset) in split(text) {
                guard let colon = word.firstIndex(of: ":") else {
                    general += try list(word[...], at: offset)
                    continue
                }
                let lane = String(word[..<colon])
                guard lanes.contains(lane) else { throw unknownWord(lane, lanes, at: offset) }
                guard !own.contains(where: { $0.lane == lane }) else {
                    throw BadValue("'\(lane)' stands there twice", at: offset)
                }
                let rest = word[word.index(after: colon)...]
                own.append(.init(lane: lane, types: try list(rest, at: offset + lane.count + 1)))
            }
            return (general.isEmpty ? [] : [.init(lane: nil, types: general)]) + own
        },
        show: { all in
            all.map { each in
                each.lane.map { "\($0):" + each.types.joined(separator: ",") } ?? each.types.joined(separator: " ")
            }.joined(separator: " ")
        })

    private static func list(_ text: Substring, at offset: Int) throws(BadValue) -> [String] {
        var offset = offset
        var found: [String] = []
        for word in text.split(separator: ",", omittingEmptySubsequences: false).map(String.init) {
            guard !word.isEmpty else {
                throw BadValue("a type is missing: write no blank beside a comma, as in wifi,ethernet", at: offset)
            }
            guard types.contains(word) else { throw unknownWord(word, types, at: offset) }
            found.append(word)
            offset += word.unicodeScalars.count + 1
        }
        return found
    }
}

extension ValueKind where Value == DestinationSection.Header {
    /// Lines that uplinkd writes itself, in lower case.
    private static let own = [
        "connection", "content-encoding", "content-length", "content-type", "expect", "host", "idempotency-key",
        "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "uplink-attempt", "user-agent",
    ]

    /// `NAME: VALUE`; shown without the value, which may be a secret.
    static let header = ValueKind(
        { text throws(BadValue) in
            let (name, value) = try headerParts(text)
            guard let value else { throw BadValue("a header's value is missing: write NAME: VALUE") }
            guard !own.contains(name.lowercased()) else { throw BadValue("\(name) is written by uplinkd itself") }
            return Value(name: name, value: value)
        }, show: { "\($0.name): ..." })
}

extension ValueKind where Value == DestinationSection.ExpectedHeader {
    /// `NAME` or `NAME: VALUE`; shown without the value, which may be a secret.
    static let expectedHeader = ValueKind(
        { text throws(BadValue) in
            let (name, value) = try headerParts(text)
            return Value(name: name, value: value)
        }, show: { $0.value == nil ? $0.name : "\($0.name): ..." })
}

extension ValueKind where Value == String {
    /// A URI reference (RFC 3986), as far as its characters go.
    static let uriReference = ValueKind(
        { text throws(BadValue) in
            let excluded = Array("\"<>\\^`{|}".utf8)
            guard text.utf8.allSatisfy({ (0x21...0x7E).contains($0) && !excluded.contains($0) }) else {
                throw BadValue("not a URI or a path: write other characters as %XX" + comment(after: text))
            }
            return try ValueKind.text(limit: 1_024).parse(text)
        }, show: { $0 })
}

/// A field's name (RFC 9110, 5.6.2) and its value, nil where there is none, both without blanks around; what it throws
/// quotes nothing, as a forgotten colon makes the value part of the name.
private func headerParts(_ text: String) throws(BadValue) -> (name: String, value: String?) {
    let halves = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    var name = halves[0]
    while name.last == " " || name.last == "\t" { name.removeLast() }
    let marks = "!#$%&'*+-.^_`|~"
    let isToken = !name.isEmpty && name.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || marks.contains($0)) }
    guard isToken, name.utf8.count <= 128 else {
        throw BadValue("a header begins with a name and a colon: write NAME: VALUE")
    }
    guard halves.count == 2 else { return (String(name), nil) }
    let value = halves[1].drop { $0 == " " || $0 == "\t" }
    guard !value.isEmpty else { return (String(name), nil) }
    guard value.utf8.count <= 4_096 else { throw BadValue("the header's value is longer than 4096 bytes") }
    return (String(name), String(value))
}
