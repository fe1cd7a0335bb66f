/// The layout of a request's body: what stands before, between and after events.
///
/// A new format is a file with a conforming type and a row in `DestinationSettings.Format`.
protocol BodyFormat: Sendable {
    /// The value of `Content-Type`.
    static var contentType: String { get }
    /// The most events in one body.
    static var maximumEvents: Int { get }
    /// True where an event must not hold line breaks.
    static var isLineBased: Bool { get }
    /// What stands before the first event.
    static var opening: StaticString { get }
    /// What stands before each further event.
    static var separator: StaticString { get }
    /// What stands after the last event.
    static var closing: StaticString { get }
}

extension DestinationSettings.Format {
    /// The type that lays it out.
    var layout: any BodyFormat.Type {
        switch self {
        case .json: JSONArray.self
        case .ndjson: NewlineJSON.self
        case .object: SingleObject.self
        }
    }
}
