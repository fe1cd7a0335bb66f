/// `json`: an array of events.
enum JSONArray: BodyFormat {
    static var contentType: String { "application/json" }
    static var maximumEvents: Int { .max }
    static var isLineBased: Bool { false }
    static var opening: StaticString { "[" }
    static var separator: StaticString { "," }
    static var closing: StaticString { "]" }
}
