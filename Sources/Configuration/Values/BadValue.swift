internal import Bytes

/// Why a text is no value of a setting.
struct BadValue: Error {
    /// Continues "MaxSize=…: ".
    let message: String
    /// Where in the text, in characters from its beginning.
    let offset: Int

    init(_ message: String, at offset: Int = 0) {
        self.message = message
        self.offset = offset
    }
}

/// How values of one kind are read from a file and shown.
struct ValueKind<Value: Sendable>: Sendable {
    /// Reads a text that is not empty.
    let parse: @Sendable (String) throws(BadValue) -> Value
    /// As a file would have it.
    let show: @Sendable (Value) -> String

    init(
        _ parse: @escaping @Sendable (String) throws(BadValue) -> Value, show: @escaping @Sendable (Value) -> String
    ) {
        self.parse = parse
        self.show = show
    }
}

/// What to add to a message about a value that ends in what was meant as a comment.
func comment(after text: String) -> String {
    let text = Array(text.utf8)
    return [" #", " ;", "\t#"].contains { text.holds($0.utf8) } ? "; a comment must have a line of its own" : ""
}
