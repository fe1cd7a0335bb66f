/// A documented setting that this version does not act on yet: to give it any value but its default is an error.
struct Unsupported: Sendable {
    let section: String
    let key: String
    /// The values that are not acted on; empty: all but the default.
    let values: [String]

    init(_ section: String, _ key: String, values: [String] = []) {
        self.section = section
        self.key = key
        self.values = values
    }

    /// All of them; whoever makes one work takes its row out.
    static let table = [
        Unsupported("Consent", "Default"),
        Unsupported("Consent", "State"),
    ]
}
