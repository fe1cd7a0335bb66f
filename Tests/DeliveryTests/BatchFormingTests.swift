import Bytes
import Gates
import JSON
import Queue
import Reachability
import Testing
import Time

@testable import Delivery

struct BatchFormingTests {
    private func settings(_ format: DestinationSettings.Format) throws -> DestinationSettings {
        var settings = DestinationSettings(name: "main", url: try DestinationURL("https://a/"))
        settings.format = format
        settings.enrichWith = []
        return settings
    }

    /// A backlog that has read these events as one chunk.
    private func backlog(_ events: [String], contexts: [AcceptContext]? = nil) -> Backlog {
        var bytes: [UInt8] = []
        var records: [Chunk.Record] = []
        for (index, event) in events.enumerated() {
            let start = bytes.count
            bytes.append(utf8: event)
            records.append(
                Chunk.Record(
                    sequence: UInt64(index + 1), range: start..<bytes.count,
                    acceptedAt: WallTime(milliseconds: Int64(index)), context: contexts == nil ? 0 : index))
        }
        var backlog = Backlog(LogPosition(log: .normal, low: 1, newest: 0))
        backlog.beginRead(1)
        backlog.took(
            Chunk(
                log: .normal, epoch: 0xE, sequences: 1...UInt64(events.count), bytes: bytes, records: records,
                contexts: contexts ?? [AcceptContext(connectionType: .wifi, closed: [])]))
        return backlog
    }

    private func bodies(_ settings: DestinationSettings, _ backlog: Backlog, allowance: Int = 1 << 20) -> [String] {
        var forming = BatchForming(settings, allowanceBytes: allowance)
        var backlog = backlog
        var bodies: [String] = []
        while !backlog.ahead.isEmpty {
            let batch = forming.form(from: &backlog, sentConnectionType: .vpn, nonce: 7)
            #expect(batch.dispositions.ledger.total == batch.sequences.upperBound - batch.sequences.lowerBound + 1)
            bodies.append(batch.body.text)
        }
        return bodies
    }

    private let events = ["{\"a\": \"\\n\"}", "{\n\t\"b\":\r\n [1,\n2]\n}", "{}"]

    @Test func jsonIsAnArrayThatKeepsWhiteSpace() throws {
        #expect(bodies(try settings(.json), backlog(events)) == ["[" + events.joined(separator: ",") + "]"])
    }

    @Test func linesHoldNoLineBreaks() throws {
        #expect(
            bodies(try settings(.ndjson), backlog(events))
                == ["{\"a\": \"\\n\"}\n{ \t\"b\":   [1, 2] }\n{}\n"])
    }

    @Test func objectsGoAloneAsTheyAre() throws {
        #expect(bodies(try settings(.object), backlog(events)) == events)
    }

    @Test func tealiumTakesTenAtMost() throws {
        let bodies = bodies(try settings(.tealium), backlog((1...21).map { "{\"n\":\($0)}" }))
        #expect(bodies.map { $0.split(separator: "\"n\"").count - 1 } == [10, 10, 1])
    }

    @Test func cloudEventsGoAlone() throws {
        #expect(bodies(try settings(.cloudevents), backlog(events)).count == 3)
    }

    @Test func batchesEndAtTheirCount() throws {
        var settings = try settings(.json)
        settings.batchMaximumEvents = 3
        let bodies = bodies(settings, backlog((1...7).map { "{\"n\":\($0)}" }))
        #expect(bodies.map { $0.split(separator: ",").count } == [3, 3, 1])
    }

    @Test(arguments: [1_024, 2_000, 5_000])
    func batchesEndAtTheirBytesButALongEventGoesAlone(limit: Int) throws {
        let long = "{\"long\":\"" + String(repeating: "x", count: 6_000) + "\"}"
        let events = (0..<40).map { $0 == 11 ? long : "{\"n\":\"" + String(repeating: "y", count: $0 * 9) + "\"}" }
        var settings = try settings(.json)
        settings.enrichWith = DestinationSettings.Member.allCases
        settings.batchMaximumBytes = limit
        let bodies = bodies(settings, backlog(events))
        #expect(bodies.count > 3)
        for body in bodies where !body.contains("long") { #expect(body.utf8.count <= limit) }
        #expect(bodies.filter { $0.contains("long") }.map { $0.split(separator: "event_id").count } == [2])
        let values = try bodies.flatMap { try JSONValue(parsing: Array($0.utf8)).array ?? [] }
        #expect(values.compactMap { $0["event_id"]?.string } == (1...40).map { "000000000000000e-\($0)" })
    }

    @Test func theAllowanceBoundsTheBody() throws {
        let events = (0..<40).map { _ in "{\"n\":\"" + String(repeating: "y", count: 500) + "\"}" }
        let bodies = bodies(try settings(.json), backlog(events), allowance: 4_096)
        #expect(bodies.count >= 5 && bodies.allSatisfy { $0.utf8.count <= 4_096 })
    }

    @Test func eachEventHasTheFactsOfItsOwnContext() throws {
        let contexts = [
            AcceptContext(connectionType: .wifi, closed: []),
            AcceptContext(connectionType: .none, destinations: [("other", .paused), ("main", .connectivity)]),
            AcceptContext(connectionType: .cellular, destinations: [("other", .paused)]),
        ]
        var settings = try settings(.json)
        settings.enrichWith = [.wasQueued, .queueReason, .connectionType, .sentConnectionType]
        let values = try JSONValue(
            parsing: Array(bodies(settings, backlog(["{}", "{}", "{}"], contexts: contexts))[0].utf8))
        let members = ["was_queued", "queue_reason", "network_connection_type", "sent_connection_type"]
        #expect(
            (values.array ?? []).map { event in members.map { event[$0]?.string } } == [
                [nil, nil, "wifi", "vpn"], ["true", "connectivity", "none", "vpn"], [nil, nil, "cellular", "vpn"],
            ])
    }

    @Test func holesAreCountedWithTheirNeighbours() throws {
        var forming = BatchForming(try settings(.json), allowanceBytes: 1 << 20)
        var backlog = Backlog(LogPosition(log: .normal, low: 3, newest: 12))
        backlog.beginRead(1)
        let record = Chunk.Record(sequence: 7, range: 0..<2, acceptedAt: nil, context: 0)
        backlog.took(
            Chunk(
                log: .normal, epoch: 1, sequences: 3...12, bytes: Array("{}".utf8), records: [record],
                contexts: [AcceptContext(connectionType: .wifi, closed: [])],
                disposed: [
                    Disposition(.quarantined, 3...4), Disposition(.purged, 5...5), Disposition(.expired, 6...6),
                    Disposition(.purged, 8...12),
                ]))
        let batch = forming.form(from: &backlog, sentConnectionType: .none, nonce: 1)
        #expect(batch.sequences == 3...12 && batch.events == 1)
        #expect(batch.dispositions.map(\.kind) == [.quarantined, .purged, .expired, .delivered, .purged])
        #expect(batch.dispositions.map(\.count) == [2, 1, 1, 1, 5])
        #expect(batch.hasUnmarked == false, "it waited through a restart")
    }

    @Test func fullMeansThatWaitingGainsNothing() throws {
        var settings = try settings(.json)
        settings.batchMaximumEvents = 3
        let forming = BatchForming(settings, allowanceBytes: 1 << 20)
        #expect(!forming.isFull(backlog(["{}", "{}"])))
        #expect(forming.isFull(backlog(["{}", "{}", "{}"])))
        #expect(BatchForming(settings, allowanceBytes: 4).isFull(backlog(["{}", "{}"])))
    }
}
