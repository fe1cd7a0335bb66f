/// `object`: one event a request, as it is.
enum SingleObject: BodyFormat {
    static var contentType: String { "application/json" }
    static var maximumEvents: Int { 1 }
    static var isLineBased: Bool { false }
    static var opening: StaticString { "" }
    static var separator: StaticString { "" }
    static var closing: StaticString { "" }
}
