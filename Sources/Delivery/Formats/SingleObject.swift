/// `object`: one event a request, as it is.
struct SingleObject: BodyFormat {
    static var contentType: String { "application/json" }
    static var maximumEvents: Int { 1 }
    var marginBytes: Int { 0 }

    init(_ settings: DestinationSettings) {}

    func append(
        _ event: Span<UInt8>, _ facts: Enrichment.Facts, _ enrichment: inout Enrichment, isFirst: Bool,
        to body: inout [UInt8]
    ) {
        enrichment.append(event, facts, to: &body)
    }

    func close(_ body: inout [UInt8]) {}
}
