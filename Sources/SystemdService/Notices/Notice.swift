/// Something to tell the operator: a kind, and the facts of this time.
package struct Notice: Sendable, Equatable {
    package let kind: NoticeKind
    /// At most one value a field, each one line of at most 2,048 bytes.
    package private(set) var fields: [NoticeField: String]

    /// A notice of a kind; fields that are nil or empty are left out.
    init(_ kind: NoticeKind, _ fields: [NoticeField: String?] = [:]) {
        self.kind = kind
        self.fields = fields.compactMapValues { value in
            guard let value, !value.isEmpty else { return nil }
            return Printable.line(value, limit: 2_048)
        }
    }

    /// The sentence of it.
    package var message: String {
        let sentence = Self.fill(kind.entry.text, fields)
        let repeated = fields[.repeated].map { "\($0) times since the last such line" }
        let age = fields[.heldBack].map { (repeated == nil ? "" : "the last ") + "\($0) s ago" }
        let remarks = [repeated, age].compactMap { $0 }
        return remarks.isEmpty ? sentence : "\(sentence) (\(remarks.joined(separator: ", ")))"
    }

    /// This notice, held back for `span`, standing for `count` like it.
    func standing(for count: Int, after span: Duration) -> Notice {
        var notice = self
        if count > 1 { notice.fields[.repeated] = String(count) }
        let seconds = span.components.seconds
        if seconds > 0 { notice.fields[.heldBack] = String(seconds) }
        return notice
    }

    /// What repeats of this notice have in common; nil where each is to be written.
    var repeatKey: [String]? {
        kind.entry.distinguishedBy.map { [kind.rawValue] + $0.map { fields[$0] ?? "" } }
    }

    /// What notices have in common of which only the newest tells how things are; nil where each tells a fact.
    var stateKey: [String]? {
        kind.subject.map { [$0.rawValue] + $0.distinguishedBy.map { fields[$0] ?? "" } }
    }

    /// True where it tells of one of the subjects, and has these fields.
    func tells(of subjects: Set<NoticeKind.Subject>, where values: [NoticeField: String]) -> Bool {
        guard let subject = kind.subject, subjects.contains(subject) else { return false }
        return values.allSatisfy { fields[$0.key] == $0.value }
    }

    /// `template` with `@FIELD@` replaced, and without the square brackets in which a field is missing.
    static func fill(_ template: String, _ fields: [NoticeField: String]) -> String {
        var result = ""
        for (index, part) in template.split(separator: "[", omittingEmptySubsequences: false).enumerated() {
            guard index > 0 else {
                result += replace(part, fields).text
                continue
            }
            let halves = part.split(separator: "]", maxSplits: 1, omittingEmptySubsequences: false)
            let inner = replace(halves[0], fields)
            if inner.isWhole { result += inner.text }
            if halves.count > 1 { result += replace(halves[1], fields).text }
        }
        return result
    }

    /// What follows a number of one.
    private static func singular(_ text: Substring) -> Substring {
        for word in [" destination", " event", " byte"] where text.hasPrefix(word + "s") {
            return Substring(word) + text.dropFirst(word.count + 1)
        }
        return text
    }

    private static func replace(
        _ template: Substring, _ fields: [NoticeField: String]
    ) -> (text: String, isWhole: Bool) {
        var text = ""
        var isWhole = true
        var isOne = false
        for (index, part) in template.split(separator: "@", omittingEmptySubsequences: false).enumerated() {
            guard index % 2 == 1 else {
                text += isOne ? singular(part) : part
                continue
            }
            let value = NoticeField(rawValue: String(part)).flatMap { fields[$0] }
            isOne = value == "1"
            if value == nil { isWhole = false }
            text += value ?? "?"
        }
        return (text, isWhole)
    }
}
