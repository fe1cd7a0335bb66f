/// `ndjson`: an event a line, the last line ended, too.
enum NewlineJSON: BodyFormat {
    static var contentType: String { "application/x-ndjson" }
    static var maximumEvents: Int { .max }
    static var isLineBased: Bool { true }
    static var opening: StaticString { "" }
    static var separator: StaticString { "\n" }
    static var closing: StaticString { "\n" }
}
