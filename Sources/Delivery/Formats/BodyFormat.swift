/// How a request carries events, and how its answer is read.
///
/// A new format is a file with a conforming type, a row below, a case of `DestinationSettings.Format` and of the
/// configuration's `DestinationSection.Format`, and a way back in the simulator's `SentEvent`.
protocol BodyFormat: Sendable {
    /// The value of `Content-Type`.
    static var contentType: String { get }
    /// The most events in one body.
    static var maximumEvents: Int { get }
    /// The name under which a member is added; nil: not at all.
    static func name(of member: DestinationSettings.Member) -> StaticString?
    /// Where a request with so many events goes.
    static func url(_ url: DestinationURL, events: Int) -> DestinationURL
    /// True where an answer 2xx refuses the events all the same; it then counts as 400.
    static func isRefusal(_ answer: TransportAnswer) -> Bool

    init(_ settings: DestinationSettings)
    /// The most bytes of a body for each event, beside the event and the members added to it.
    var marginBytes: Int { get }
    /// Appends an event, a checked JSON object, and what is added to it.
    func append(
        _ event: Span<UInt8>, _ facts: Enrichment.Facts, _ enrichment: inout Enrichment, isFirst: Bool,
        to body: inout [UInt8])
    /// Ends a body of at least one event.
    func close(_ body: inout [UInt8])
}

extension BodyFormat {
    static func name(of member: DestinationSettings.Member) -> StaticString? { member.name }
    static func url(_ url: DestinationURL, events: Int) -> DestinationURL { url }
    static func isRefusal(_ answer: TransportAnswer) -> Bool { false }
}

extension DestinationSettings.Format {
    /// The type that lays it out.
    var layout: any BodyFormat.Type {
        switch self {
        case .json: JSONArray.self
        case .ndjson: NewlineJSON.self
        case .object: SingleObject.self
        case .cloudevents: CloudEvents.self
        case .tealium: Tealium.self
        }
    }
}
