/// A line of a configuration file that says something.
struct Statement: Sendable {
    enum Content: Sendable {
        /// `[name]` or `[name "instance"]`.
        case section(name: String, instance: String?)
        /// The line of a section that cannot be told; what follows belongs to it.
        case malformedSection
        /// `key=value`; the value's own place is where its first character stands, or would.
        case assignment(key: String, value: String, valueOrigin: Origin)
    }

    let content: Content
    /// Where the section's name or the key begins.
    let origin: Origin
}
