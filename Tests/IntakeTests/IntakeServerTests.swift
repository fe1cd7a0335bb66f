import Bytes
import Gates
import HTTP1
import Intake
import JSON
import Posix
import Queue
import Reachability
import Testing
import Time

struct IntakeServerTests {
    @Test func answersNetcatAndCurlOnOneSocket() throws {
        let rig = try ServerRig()
        let lines = try rig.connect()
        lines.send("{\"event\":\"boot\"}\n")
        lines.endOutput()
        let http = try rig.connect()
        http.send(post("[{},{}]"))
        try rig.turn { lines.text.hasSuffix("\n") && lines.hasEnded && http.text.hasSuffix("}\n") }
        #expect(lines.text == "{\"accepted\":1}\n" && lines.hasEnded && !lines.isReset)
        #expect(try answers(in: http.text).map(\.status) == [202] && !http.hasEnded)
        #expect(rig.server.statistics.accepted == 3 && rig.server.statistics.connections == 1)
        http.close()
        try rig.turn { rig.server.statistics.connections == 0 }
        #expect(rig.server.statistics.connections == 0)
    }

    @Test func nothingIsAnsweredBeforeTheCommit() throws {
        let rig = try ServerRig()
        rig.disk = .stuck
        let lines = try rig.connect()
        lines.send("{}\n")
        let http = try rig.connect()
        http.send(post("{}"))
        try rig.turn { rig.admission.hasEvents && !lines.text.isEmpty }
        #expect(lines.text == "" && http.text == "")
        rig.disk = .durable
        try rig.turn { !lines.text.isEmpty && !http.text.isEmpty }
        #expect(lines.text == "{\"accepted\":1}\n" && http.text.hasPrefix("HTTP/1.1 202"))
    }

    @Test func takesWhatAVanishedClientHadSent() throws {
        let rig = try ServerRig()
        rig.disk = .stuck
        let client = try rig.connect()
        let line = "{\"a\":\"" + String(repeating: "x", count: 1_000) + "\"}\n"
        var sent = 0
        var rest: [UInt8] = Array(String(repeating: line, count: 6_000).utf8)
        while !rest.isEmpty {
            let count = client.send(rest)
            sent += count
            rest.dropPrefix(count)
            if count == 0 {
                rig.disk = .durable
                try rig.turn { true }
                rig.disk = .stuck
            }
        }
        client.close()
        rig.disk = .durable
        try rig.turn { rig.stored.count == 6_000 && rig.server.statistics.connections == 0 }
        #expect(rig.stored.count == 6_000 && rig.server.statistics.connections == 0)
    }

    @Test func aLineOfAHundredMegabytesIsAnsweredAndTheConnectionClosed() throws {
        let rig = try ServerRig()
        let client = try rig.connect()
        let piece = [UInt8](repeating: UInt8(ascii: "["), count: 65_536)
        var sent = 0
        for _ in 0..<3_000 where !client.hasEnded && sent < 100_000_000 {
            sent += client.send(piece)
            try rig.turn { true }
            client.read()
        }
        let detail = "an event has at most 262144 bytes"
        #expect(client.text == "{\"error\":{\"line\":1,\"status\":413,\"detail\":\"\(detail)\"}}\n")
        #expect(client.hasEnded && !client.isReset && sent < 3_000_000)
    }

    @Test func aLargeBodyIsRefusedBeforeItIsRead() throws {
        let rig = try ServerRig()
        let client = try rig.connect()
        client.send("POST /v1/events HTTP/1.1\r\nHost: x\r\nContent-Length: 100000000\r\n\r\n")
        client.send([UInt8](repeating: 0x20, count: 100_000))
        try rig.turn { client.text.hasSuffix("}") && client.hasEnded }
        #expect(try answers(in: client.text).map(\.status) == [413])
        #expect(client.hasEnded && !client.isReset)
    }

    @Test func aRefusedLogRefusesWhatIsOpenForIt() throws {
        let rig = try ServerRig()
        rig.disk = .stuck
        let lines = try rig.connect()
        let urgent = try rig.connect()
        lines.send("{\"a\":1}\n")
        try rig.turn { rig.admission.hasEvents }
        let (ordinal, batches) = rig.admission.seal()
        lines.send("{\"b\":1}\n")
        urgent.send(post("{\"u\":1}", query: "?lane=urgent"))
        try rig.turn { rig.server.statistics.connections == 2 && urgent.text.isEmpty == false }
        rig.server.settled(
            ordinal: ordinal,
            outcomes: batches.map { _ in .refused(Refusal(.full, detail: "full", retryAfterSeconds: 5)) })
        rig.disk = .durable
        try rig.turn { urgent.text.hasSuffix("}\n") && lines.hasEnded }
        #expect(lines.text == "{\"error\":{\"line\":1,\"status\":503,\"detail\":\"full\",\"retry_after\":5}}\n")
        #expect(rig.stored == ["{\"u\":1}"], "nothing from the refused line on was taken")
        #expect(try answers(in: urgent.text).map(\.status) == [202])
    }

    @Test func turnsAwayWhoHasTooManyConnections() throws {
        var limits = IntakeLimits()
        limits.maximumConnectionsPerUser = 2
        let rig = try ServerRig(limits)
        let first = try rig.connect()
        let second = try rig.connect()
        let third = try rig.connect()
        let fourth = try rig.connect()
        third.send(post("{}"))
        fourth.send("{}\n")
        try rig.turn { third.text.hasSuffix("}") && third.hasEnded && fourth.text.hasSuffix("\n") }
        let answer = try #require(try answers(in: third.text).first)
        #expect(answer.status == 429 && answer.head.fields["retry-after"] != nil)
        let problem = try JSONValue(parsing: Array(fourth.text.utf8))["error"]
        #expect(problem?["status"]?.integer == 429 && problem?["retry_after"]?.integer == 5)
        first.close()
        try rig.turn { rig.server.statistics.connections == 1 }
        let fifth = try rig.connect()
        fifth.send("{}\n")
        try rig.turn { !fifth.text.isEmpty }
        #expect(fifth.text == "{\"accepted\":1}\n" && second.text == "")
    }

    @Test func slowClientsAreTold() throws {
        var limits = IntakeLimits()
        limits.headTimeout = .milliseconds(20)
        limits.bodyTimeout = .milliseconds(20)
        limits.idleTimeout = .milliseconds(40)
        let rig = try ServerRig(limits)
        let head = try rig.connect()
        head.send("POST /v1/ev")
        let body = try rig.connect()
        body.send("POST /v1/events HTTP/1.1\r\nContent-Length: 5\r\n\r\n[{}")
        let line = try rig.connect()
        line.send("{\"a\"")
        let idle = try rig.connect()
        try rig.turn {
            head.hasEnded && body.hasEnded && line.hasEnded && idle.hasEnded
                || [head, body, line, idle].map(\.text).isEmpty
        }
        #expect(try answers(in: head.text).map(\.status) == [408])
        #expect(try answers(in: body.text).map(\.status) == [408])
        #expect(line.text.contains("\"line\":1,\"status\":408"))
        #expect(idle.text == "" && idle.hasEnded)
    }

    @Test func unfinishedRequestsShareTheirMemory() throws {
        var limits = IntakeLimits()
        limits.unfinishedBytes = 100_000
        let rig = try ServerRig(limits)
        let first = try rig.connect()
        first.send("POST /v1/events HTTP/1.1\r\nContent-Length: 90000\r\n\r\n")
        first.send([UInt8](repeating: 0x20, count: 60_000))
        try rig.turn { rig.server.statistics.connections == 1 && !first.text.isEmpty }
        let second = try rig.connect()
        second.send([UInt8](repeating: 0x20, count: 60_000))
        try rig.turn { second.text.hasSuffix("\n") }
        let problem = try JSONValue(parsing: Array(second.text.utf8))["error"]
        #expect(problem?["status"]?.integer == 503 && problem?["retry_after"]?.integer == 1)
        let third = try rig.connect()
        third.send("POST /v1/events HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffff\r\n")
        third.send([UInt8](repeating: 0x20, count: 60_000))
        try rig.turn { third.text.hasSuffix("}") }
        #expect(try answers(in: third.text).map(\.status) == [503])
        first.send([UInt8](repeating: 0x20, count: 29_998) + Array("{}".utf8))
        try rig.turn { !first.text.isEmpty }
        #expect(try answers(in: first.text).map(\.status) == [202])
        second.close()
        third.close()
        let fourth = try rig.connect()
        fourth.send([UInt8](repeating: 0x20, count: 60_000) + Array("{}\n".utf8))
        try rig.turn { !fourth.text.isEmpty }
        #expect(fourth.text == "{\"accepted\":1}\n")
    }

    @Test func aClientThatDoesNotReadIsHeldBack() throws {
        let rig = try ServerRig()
        let client = try rig.connect()
        let bad = Array(String(repeating: "1\n", count: 4_096).utf8)
        var sent = 0
        for _ in 0..<300 {
            sent += client.send(bad)
            try rig.turn { true }
        }
        #expect(sent < 2_000_000, "the client is held back")
        client.endOutput()
        for _ in 0..<1_000 where !client.hasEnded {
            try rig.turn { true }
            client.read()
        }
        #expect(client.hasEnded && client.received.count { $0 == 0x0A } == (sent + 1) / 2)
    }

    /// Also where nothing had to wait for it before its last answer.
    @Test func aClientThatNeverReadsItsLastAnswerIsGivenUp() throws {
        var limits = IntakeLimits()
        limits.idleTimeout = .milliseconds(500)
        let rig = try ServerRig(limits)
        let first = try rig.connect()
        for _ in 0..<1_000 {
            first.send("{\n")
            try rig.turn { true }
        }
        let fitting = first.text.split(separator: "\n").count
        #expect(fitting > 0 && fitting < 1_000)
        first.close()
        let second = try rig.connect()
        for _ in 0..<fitting {
            second.send("{\n")
            try rig.turn { true }
        }
        rig.disk = .stuck
        second.send("{}\n")
        second.endOutput()
        try rig.turn { rig.admission.hasEvents }
        rig.disk = .durable
        let end = Clock.now + .seconds(10)
        while rig.server.statistics.connections > 0, Clock.now < end {
            try rig.turn { rig.server.statistics.connections == 0 }
        }
        #expect(rig.server.statistics.connections == 0 && rig.server.statistics.accepted == 1)
        #expect(second.text.split(separator: "\n").count == fitting)
    }

    @Test func stopsWithEveryAnswerGiven() throws {
        var limits = IntakeLimits()
        limits.stopLingerTimeout = .milliseconds(20)
        let rig = try ServerRig(limits)
        rig.disk = .stuck
        let waiting = try rig.connect()
        waiting.send("{}\n{}\n")
        let http = try rig.connect()
        http.send(post("{}"))
        let half = try rig.connect()
        half.send("POST /v1/events HTTP/1.1\r\nContent-Length: 5\r\n\r\n[{}")
        let idle = try rig.connect()
        try rig.turn { rig.server.statistics.connections == 4 && !idle.text.isEmpty }
        rig.server.stop()
        #expect(!rig.server.isDrained)
        rig.disk = .durable
        try rig.turn { rig.server.isDrained }
        #expect(rig.server.isDrained)
        #expect(waiting.text.hasPrefix("{\"accepted\":2}\n{\"error\":{\"line\":3,\"status\":503"))
        #expect(try answers(in: http.text).map(\.status) == [202])
        #expect(try answers(in: half.text).map(\.status) == [503])
        #expect(idle.text == "" && idle.hasEnded && waiting.hasEnded && http.hasEnded)
        #expect(throws: Errno.connectionRefused) { _ = try Socket.connectUnix(rig.path) }
    }

    @Test func stopsWithWhatWasSentBeforeItTaken() throws {
        let rig = try ServerRig()
        let (lines, http, new) = (try rig.connect(), try rig.connect(), try rig.connect())
        lines.send("{}\n")
        http.send(post("{}"))
        try rig.turn { lines.text == "{\"accepted\":1}\n" && rig.stored.count == 2 }
        lines.send("{}\n{}\n{")
        http.send(post("[{},{}]"))
        new.send("{}\n")
        rig.server.stop()
        try rig.turn { rig.stored.count == 7 }
        #expect(rig.stored.count == 7)
        lines.send("}\n{}\n")
        http.send(post("{}"))
        try rig.turn { http.text.isEmpty }
        #expect(lines.text.hasPrefix("{\"accepted\":1}\n{\"accepted\":3}\n{\"error\":{\"line\":4,\"status\":503"))
        #expect(try answers(in: http.text).map(\.status) == [202, 202])
        #expect(new.text.hasPrefix("{\"accepted\":1}\n"))
        for client in [lines, http, new] { #expect(client.hasEnded && !client.isReset) }
        #expect(rig.stored.count == 7)
        for client in [lines, http, new] { client.close() }
        try rig.turn { rig.server.isDrained }
        #expect(rig.server.isDrained)
    }

    @Test func aStopWaitsOnlyShortlyForClientsToClose() throws {
        var limits = IntakeLimits()
        limits.stopLingerTimeout = .milliseconds(20)
        let rig = try ServerRig(limits)
        let idle = try rig.connect()
        try rig.turn { rig.server.statistics.connections == 1 }
        rig.server.stop()
        #expect(!rig.server.isDrained)
        try rig.turn { rig.server.isDrained }
        #expect(rig.server.isDrained && idle.text.isEmpty && idle.hasEnded)
    }

    @Test func manyClientsGetTheirOwnAnswers() throws {
        let rig = try ServerRig()
        let clients = try (0..<40).map { _ in try rig.connect() }
        for round in 1...5 {
            for (number, client) in clients.enumerated() {
                client.send(String(repeating: "{\"c\":\(number)}\n", count: number % 7 + 1))
            }
            try rig.turn {
                clients.enumerated().allSatisfy { $1.text.hasSuffix("{\"accepted\":\(round * ($0 % 7 + 1))}\n") }
            }
        }
        for (number, client) in clients.enumerated() {
            #expect(client.text.hasSuffix("{\"accepted\":\(5 * (number % 7 + 1))}\n"))
            #expect(rig.stored.count { $0 == "{\"c\":\(number)}" } == 5 * (number % 7 + 1))
        }
    }
}

struct AdmissionTests {
    @Test func beginsABatchWithEachLogAndContext() {
        let admission = Admission(context: context, recent: noneRecent)
        let event = Array("{}".utf8)
        let first = admission.append(event.span, to: .normal, acceptedAt: nil)
        _ = admission.append(event.span, to: .urgent, acceptedAt: nil)
        admission.context = .init(connectionType: .none, closed: [])
        let third = admission.append(event.span, to: .normal, acceptedAt: nil)
        #expect(first.ordinal == third.ordinal && third.batch == 2 && third.index == 0)
        let (ordinal, batches) = admission.seal()
        #expect(ordinal == 1 && batches.map(\.log) == [.normal, .urgent, .normal])
        #expect(batches.map(\.context.connectionType) == [.ethernet, .ethernet, .none])
        #expect(!admission.hasEvents && admission.openOrdinal == 2)
    }

    @Test func beginsABatchWhenOneIsFull() {
        let admission = Admission(context: context, recent: noneRecent)
        let event = Array("{}".utf8)
        for _ in 0...OpenBatch.maximumEvents { _ = admission.append(event.span, to: .normal, acceptedAt: nil) }
        #expect(admission.seal().batches.map(\.count) == [OpenBatch.maximumEvents, 1])
    }
}
