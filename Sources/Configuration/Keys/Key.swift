/// A section whose keys have defaults.
protocol ConfigurationSection: Sendable {
    static var defaults: Self { get }
}

/// A key of a section: how its values are read, and where they are put.
struct Key<Section: ConfigurationSection>: Sendable {
    let name: String
    /// True where a reload cannot take a new value.
    let needsRestart: Bool
    /// Takes a value; an empty one brings the default back.
    let assign: @Sendable (inout Section, String) throws(BadValue) -> Void
    /// The values in force, as a file would have them, secrets left out; none where there is none.
    let show: @Sendable (Section) -> [String]
    /// True where both sections have the same value.
    let isEqual: @Sendable (Section, Section) -> Bool

    /// A key with one value, the last one given.
    static func value<Value: Sendable & Equatable>(
        _ name: String, _ path: any WritableKeyPath<Section, Value> & Sendable, _ kind: ValueKind<Value>,
        needsRestart: Bool = false
    ) -> Key {
        Key(
            name: name, needsRestart: needsRestart,
            assign: { section, text throws(BadValue) in
                section[keyPath: path] =
                    try text.isEmpty ? Section.defaults[keyPath: path] : kind.parse(text)
            },
            show: { [kind.show($0[keyPath: path])].filter { !$0.isEmpty } },
            isEqual: { $0[keyPath: path] == $1[keyPath: path] })
    }

    /// A key whose default is nil.
    static func optional<Value: Sendable & Equatable>(
        _ name: String, _ path: any WritableKeyPath<Section, Value?> & Sendable, _ kind: ValueKind<Value>,
        needsRestart: Bool = false
    ) -> Key {
        let parse = kind.parse
        let show = kind.show
        return value(
            name, path,
            ValueKind<Value?>({ text throws(BadValue) in try parse(text) }, show: { $0.map(show) ?? "" }),
            needsRestart: needsRestart)
    }

    /// A key that may repeat; an empty value forgets those before it.
    static func list<Element: Sendable & Equatable>(
        _ name: String, _ path: any WritableKeyPath<Section, [Element]> & Sendable, _ kind: ValueKind<Element>,
        atMost limit: Int
    ) -> Key {
        Key(
            name: name, needsRestart: false,
            assign: { section, text throws(BadValue) in
                guard !text.isEmpty else {
                    section[keyPath: path] = []
                    return
                }
                guard section[keyPath: path].count < limit else { throw BadValue("more than \(limit) of them") }
                section[keyPath: path].append(try kind.parse(text))
            },
            show: { $0[keyPath: path].map(kind.show) },
            isEqual: { $0[keyPath: path] == $1[keyPath: path] })
    }

    /// A key whose value is a whole list; an empty value is the empty list.
    static func words<Element: Sendable & Equatable>(
        _ name: String, _ path: any WritableKeyPath<Section, [Element]> & Sendable, _ kind: ValueKind<[Element]>
    ) -> Key {
        Key(
            name: name, needsRestart: false,
            assign: { section, text throws(BadValue) in
                section[keyPath: path] = try text.isEmpty ? [] : kind.parse(text)
            },
            show: { [kind.show($0[keyPath: path])].filter { !$0.isEmpty } },
            isEqual: { $0[keyPath: path] == $1[keyPath: path] })
    }
}
