internal import Bytes

/// `json`: an array of events.
struct JSONArray: BodyFormat {
    static var contentType: String { "application/json" }
    static var maximumEvents: Int { .max }
    var marginBytes: Int { 2 }

    init(_ settings: DestinationSettings) {}

    func append(
        _ event: Span<UInt8>, _ facts: Enrichment.Facts, _ enrichment: inout Enrichment, isFirst: Bool,
        to body: inout [UInt8]
    ) {
        body.append(isFirst ? UInt8(ascii: "[") : UInt8(ascii: ","))
        enrichment.append(event, facts, to: &body)
    }

    func close(_ body: inout [UInt8]) { body.append(UInt8(ascii: "]")) }
}
