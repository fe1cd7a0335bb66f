internal import Bytes

/// `Key=Value`, with the places of both.
struct Assignment {
    let key: String
    let value: String
    let keyOrigin: Origin
    let valueOrigin: Origin

    /// The key as a message names it; what no setting is called may be part of a secret, and is not quoted.
    var shownKey: String {
        let isWord = key.utf8.count <= 32 && key.utf8.allSatisfy { (0x61...0x7A).contains($0.lowercased) }
        return isWord ? "key '\(key)'" : "key"
    }

    /// Puts the value into the section; the setting's name, nil where there is no such key.
    func apply<Section>(
        _ keys: [Key<Section>], _ sectionName: String, _ instance: String?, to section: inout Section,
        _ problems: inout ProblemList
    ) -> SettingName? {
        guard let key = keys.first(where: { $0.name == self.key }) else {
            problems.add(.warning, at: keyOrigin, unknown(keys.map(\.name), in: sectionName))
            return nil
        }
        do throws(BadValue) {
            try key.assign(&section, value)
        } catch {
            let place = Origin(
                file: valueOrigin.file, line: valueOrigin.line, column: valueOrigin.column + error.offset)
            problems.add(.error, at: place, "\(key.name)=: \(error.message)")
        }
        return SettingName(section: sectionName, instance: instance, key: key.name)
    }

    private func unknown(_ known: [String], in section: String) -> String {
        let begin = "unknown \(shownKey) in [\(section)] has no effect"
        if let near = nearest(to: key, among: known) { return "\(begin); did you mean \(near)=?" }
        let home = Self.homes.first { $0.keys.contains(key) }
        return home.map { "\(begin); it belongs in [\($0.section)]" } ?? begin
    }

    private static let homes: [(section: String, keys: [String])] = [
        ("Intake", IntakeSection.keys.map(\.name)),
        ("Control", ControlSection.keys.map(\.name)),
        ("Queue", QueueSection.keys.map(\.name)),
        ("Reachability", ReachabilitySection.keys.map(\.name)),
        ("Destination \"NAME\"", DestinationSection.keys.map(\.name)),
    ]
}
