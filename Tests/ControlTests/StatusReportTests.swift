import Bytes
import Control
import JSON
import Testing
import Time

struct StatusReportTests {
    @Test func jsonHasEveryFieldAndNullWhereThereIsNoValue() {
        let expected = """
            {"version":"0.1.0","uptime_s":12,"state":"running","clock_synced":true,\
            "network":{"connection_type":"wifi","since":"2026-11-28T07:04:38.123Z"},\
            "intake":{"accepted":12345,"refused":2,"duplicates":1,"connections":4},\
            "destinations":[\
            {"name":"collector","state":"reachable","reason":"none","reason_detail":null,\
            "since":"2026-11-28T07:04:38.123Z","flags":[],\
            "ledger":{"accepted":12345,"delivered":12345,"queued":0,"dead":0,"expired":0,"evicted":0,"purged":0,\
            "quarantined":0},"oldest_age_s":null,"last_success":"2026-11-28T07:05:00.000Z","last_error":null,\
            "file_fault":null,"token":"none","certificate_refused_since":null,\
            "next_attempt_at":null,"attempts":0},\
            {"name":"backup","state":"no-path","reason":"no-route","reason_detail":"no route to 192.0.2.1",\
            "since":null,"flags":[],\
            "ledger":{"accepted":12,"delivered":0,"queued":12,"dead":0,"expired":0,"evicted":0,"purged":0,\
            "quarantined":0},"oldest_age_s":1.5,"last_success":null,"last_error":null,\
            "file_fault":null,"token":"none","certificate_refused_since":null,\
            "next_attempt_at":"2026-11-28T07:05:30.000Z","attempts":3}],\
            "queue":{"directory":"/var/lib/uplinkd","bytes":1048576,"limit_bytes":536870912,\
            "bound_bytes":536870912,"bound":"max-size","kept_free_bytes":0,"refused":[],\
            "logs":{"normal":{"events":12,"bytes":1048576}},"room_s":777600},\
            "storage":{"state":"ok","last_sync_us":1234,"detail":null},\
            "consent":{"analytics":"hold"},\
            "consent_detail":null}

            """
        #expect(StatusReport.example.json.text == expected)
    }

    @Test func hostileTextsStayInsideTheirStrings() throws {
        let json = try JSONValue(parsing: StatusReport.held.json)
        let one = json["destinations"]?.array?.first
        #expect(one?["flags"]?.array == [.string("held")])
        #expect(one?["last_error"]?["detail"]?.string == StatusReport.held.destinations[0].lastError?.detail)
        #expect(one?["last_error"]?["status"]?.integer == 401)
        #expect(one?["last_error"]?["location"]?.string == "http://x/\r\n")
    }

    @Test func metricsFollowTheTextFormat() throws {
        var report = StatusReport.held
        report.version = "a\"b\\c\nd"
        report.network.messages = ["link": 7]
        report.network.overruns = 1
        report.network.evaluations = 9
        report.destinations[1].checks = ["failed": 4]
        report.destinations[1].stateSpans = ["no-path": .milliseconds(2_500)]
        let metrics = try PrometheusText(report.metrics.text)
        #expect(metrics.samples["uplink_up_info{version=\"a\\\"b\\\\c\\nd\"}"] == 1)
        #expect(metrics.samples["uplink_uptime_seconds"] == 12.345)
        #expect(metrics.samples["uplink_state{state=\"running\"}"] == 1)
        #expect(metrics.samples["uplink_state{state=\"stopping\"}"] == 0)
        #expect(metrics.samples["uplink_ingest_events_total{result=\"accepted\"}"] == 12_345)
        #expect(metrics.samples["uplink_delivered_events_total{destination=\"collector\"}"] == 12_345)
        #expect(metrics.samples["uplink_queue_events{destination=\"backup\"}"] == 12)
        #expect(metrics.samples["uplink_dead_letters{destination=\"collector\"}"] == 2)
        #expect(metrics.samples["uplink_destination_held{destination=\"collector\"}"] == 1)
        #expect(metrics.samples["uplink_destination_held{destination=\"backup\"}"] == 0)
        #expect(metrics.samples["uplink_destination_throttled{destination=\"collector\"}"] == 0)
        #expect(metrics.samples["uplink_queue_oldest_age_seconds{destination=\"backup\"}"] == 1.5)
        #expect(metrics.samples["uplink_queue_oldest_age_seconds{destination=\"collector\"}"] == nil)
        #expect(metrics.samples["uplink_next_attempt_timestamp_seconds{destination=\"backup\"}"] == 1_795_849_530)
        #expect(metrics.samples["uplink_storage_last_sync_seconds"] == 0.001234)
        #expect(metrics.samples["uplink_queue_limit_bytes"] == 536_870_912)
        #expect(metrics.samples["uplink_netlink_messages_total{group=\"link\"}"] == 7)
        #expect(metrics.samples["uplink_netlink_overruns_total"] == 1)
        #expect(metrics.samples["uplink_path_evaluations_total"] == 9)
        #expect(metrics.samples["uplink_checks_total{destination=\"backup\",result=\"failed\"}"] == 4)
        let span = "uplink_destination_state_seconds_total{destination=\"backup\",state=\"no-path\"}"
        #expect(metrics.samples[span] == 2.5)
    }
}

/// A strict reader of the Prometheus text format: help and type before the samples, no metric twice, no series twice.
struct PrometheusText {
    struct Malformed: Error { let line: String }

    /// Values by series, as written.
    private(set) var samples: [String: Double] = [:]
    private var types: [String: String] = [:]

    init(_ text: String) throws {
        guard text.hasSuffix("\n") else { throw Malformed(line: "the last line has no end") }
        var current = ""
        var helped = ""
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ", maxSplits: 3).map(String.init)
            if line.hasPrefix("# HELP ") {
                guard words.count == 4, types[words[2]] == nil else { throw Malformed(line: String(line)) }
                helped = words[2]
            } else if line.hasPrefix("# TYPE ") {
                guard words.count == 4, words[2] == helped else { throw Malformed(line: String(line)) }
                let isTotal = words[2].hasSuffix("_total")
                guard words[3] == (isTotal ? "counter" : "gauge") else { throw Malformed(line: String(line)) }
                current = words[2]
                types[current] = words[3]
            } else {
                try sample(String(line), of: current)
            }
        }
    }

    private mutating func sample(_ line: String, of metric: String) throws {
        let form = /([a-z_]+)(\{[a-z_]+="(?:[^"\\]|\\["\\n])*"(?:,[a-z_]+="(?:[^"\\]|\\["\\n])*")*\})? ([0-9.e+-]+)/
        guard let match = line.wholeMatch(of: form), match.1 == metric, metric.hasPrefix("uplink_"),
            let value = Double(match.3)
        else { throw Malformed(line: line) }
        let series = String(match.1) + String(match.2 ?? "")
        guard samples.updateValue(value, forKey: series) == nil else { throw Malformed(line: line) }
    }
}
