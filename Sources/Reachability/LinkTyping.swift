/// An owner's word on the type of links whose name matches: `wwan*` is `cellular`.
package struct LinkTypeRule: Hashable, Sendable {
    /// `*` stands for any run of characters, `?` for one.
    package let pattern: String
    package let type: ConnectionType

    package init(pattern: String, type: ConnectionType) {
        self.pattern = pattern
        self.type = type
    }
}
