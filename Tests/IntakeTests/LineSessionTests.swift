import Bytes
import Intake
import JSON
import Queue
import Testing
import Time

private func error(_ line: Int, _ status: Int, _ detail: String) -> String {
    "{\"error\":{\"line\":\(line),\"status\":\(status),\"detail\":\"\(detail)\"}}\n"
}

struct LineSessionTests {
    @Test func answersAfterTheSyncOnly() {
        var client = LineClient(SessionRig())
        #expect(client.feed("{\"event\":\"boot\"}\n{\"b\":2}\n") == "")
        #expect(client.session.isWaiting)
        #expect(client.settle(client.rig.commit()) == "{\"accepted\":2}\n")
        #expect(client.feed("{}\n") == "")
        #expect(client.settle(client.rig.commit()) == "{\"accepted\":3}\n")
        #expect(client.rig.stored.map(\.event) == ["{\"event\":\"boot\"}", "{\"b\":2}", "{}"])
        #expect(client.rig.stored.allSatisfy { $0.log == .normal })
        #expect(!client.session.isWaiting && !client.session.isFinished)
        #expect(client.rig.turn.accepted == 3 && client.rig.turn.refused == 0)
    }

    @Test func takesALastLineWithoutItsEnd() {
        var client = LineClient(SessionRig())
        #expect(client.feed("{\"event\":\"boot\"}") == "")
        #expect(client.feed("", hasEnded: true) == "")
        #expect(!client.session.isFinished)
        #expect(client.settle(client.rig.commit()) == "{\"accepted\":1}\n")
        #expect(client.session.isFinished)
    }

    @Test func storesTheBytesAsTheyCameWithoutWhiteSpaceAround() {
        var client = LineClient(SessionRig())
        let event = "{ \"a\" : 1.10e+2 , \"a\":\"\\u00e9\\ud800\", \"b\": [ ] }"
        _ = client.feed(" \t\(event) \r\n")
        _ = client.settle(client.rig.commit())
        #expect(client.rig.stored.map(\.event) == [event])
    }

    @Test func keepsTheOrderOfLinesAndCountsBlankOnes() {
        var client = LineClient(SessionRig())
        let text = "{}\n\n[1]\n \t\r\n{}\n{}\nnope\n"
        #expect(client.feed(text) == "")
        let expected =
            "{\"accepted\":1}\n" + error(3, 400, "not a JSON object") + "{\"accepted\":3}\n"
            + error(7, 400, "unexpected byte in JSON at byte 1")
        #expect(client.settle(client.rig.commit()) == expected)
        #expect(client.feed("7\n{}\n") == error(8, 400, "not a JSON object"))
        #expect(client.settle(client.rig.commit()) == "{\"accepted\":4}\n")
        #expect(client.rig.turn.refused == 3)
    }

    @Test(arguments: [
        ("[]", 400), ("\"a\"", 400), ("1", 400), ("{", 400), ("{}{}", 400), ("{\"a\":\"\u{1}\"}", 400),
        ("\u{FEFF}{}", 400),
    ])
    func refusesABadLineAndGoesOn(_ line: String, status: Int) throws {
        var client = LineClient(SessionRig())
        let answer = client.feed(line + "\n{}\n")
        let problem = try JSONValue(parsing: Array(answer.utf8))["error"]
        #expect(problem?["line"]?.integer == 1 && problem?["status"]?.integer == Int64(status))
        #expect(client.settle(client.rig.commit()) == "{\"accepted\":1}\n")
    }

    @Test func refusesALineThatIsTooDeepOrTooLargeAndGoesOn() throws {
        let deep = "{\"a\":" + String(repeating: "[", count: 10_000) + String(repeating: "]", count: 10_000) + "}"
        try refusesABadLineAndGoesOn(deep, status: 400)
        for count in [262_144 - 7, 500_000] {
            try refusesABadLineAndGoesOn("{\"a\":\"" + String(repeating: "x", count: count) + "\"}", status: 413)
        }
    }

    @Test func refusesInvalidUTF8() {
        var client = LineClient(SessionRig())
        let line = Array("{\"a\":\"".utf8) + [0xC3, 0x28] + Array("\"}\n".utf8)
        #expect(client.feed(line) == error(1, 400, "not valid UTF-8 at byte 6"))
    }

    @Test func takesTheLargestEventAndSixtyFourLevels() {
        var client = LineClient(SessionRig())
        let large = "{\"a\":\"" + String(repeating: "x", count: 262_144 - 8) + "\"}"
        let deep = "{\"a\":" + String(repeating: "[", count: 63) + String(repeating: "]", count: 63) + "}"
        #expect(client.feed(large + " \n" + deep + "\n") == "")
        #expect(client.settle(client.rig.commit()) == "{\"accepted\":2}\n")
        #expect(client.rig.stored.map(\.event.utf8.count) == [262_144, deep.utf8.count])
    }

    @Test func endsALineWithoutEndInBoundedMemory() {
        var client = LineClient(SessionRig())
        let piece = [UInt8](repeating: UInt8(ascii: "x"), count: 65_536)
        _ = client.feed("{}\n")
        var answer = ""
        var most = 0
        for _ in 0..<32 {
            answer += client.feed(piece)
            most = max(most, client.held)
        }
        #expect(most <= 262_144 + 65_536 + 4_096)
        #expect(answer == "" && !client.session.isFinished, "the error waits for the line before it")
        answer += client.settle(client.rig.commit())
        #expect(answer == "{\"accepted\":1}\n" + error(2, 413, "an event has at most 262144 bytes"))
        #expect(client.session.isFinished)
    }

    @Test func stopsWhereTheQueueRefuses() {
        var client = LineClient(SessionRig())
        _ = client.feed("{}\n{}\n")
        client.rig.admission.refusal = Refusal(.full, detail: "full", retryAfterSeconds: 5)
        #expect(client.feed("{}\n{}\n") == "")
        let refused = "{\"error\":{\"line\":3,\"status\":503,\"detail\":\"full\",\"retry_after\":5}}\n"
        #expect(client.settle(client.rig.commit()) == "{\"accepted\":2}\n" + refused)
        #expect(client.session.isFinished)
        #expect(client.feed("{}\n") == "")
        #expect(!client.rig.admission.hasEvents)
    }

    @Test func aRefusalOfAnotherLaneDoesNotConcernIt() {
        var client = LineClient(SessionRig())
        client.rig.admission.refusal = Refusal(.full, logs: [.bulk], detail: "full", retryAfterSeconds: 5)
        _ = client.feed("{}\n")
        #expect(client.settle(client.rig.commit()) == "{\"accepted\":1}\n")
    }

    @Test func tellsTheFirstLineOfARefusedCommit() {
        var client = LineClient(SessionRig())
        _ = client.feed("{}\n")
        _ = client.settle(client.rig.commit())
        _ = client.feed("\n{}\nx\n{}\n")
        let settlement = client.rig.refuse(Refusal(.diskError, detail: "EIO", retryAfterSeconds: 9))
        let expected = "{\"error\":{\"line\":3,\"status\":503,\"detail\":\"EIO\",\"retry_after\":9}}\n"
        #expect(client.settle(settlement) == expected)
        #expect(client.session.isFinished)
        #expect(client.rig.turn.accepted == 1)
    }

    @Test func pausesWhileAdmissionIsFullAndLosesNothing() {
        var client = LineClient(SessionRig())
        let line = "{\"a\":\"" + String(repeating: "x", count: 100_000) + "\"}\n"
        var fed = 0
        while client.pause == .needsInput, fed < 100 {
            _ = client.feed(line)
            fed += 1
        }
        #expect(client.pause == .admissionFull && fed == 42)
        #expect(client.feed(line) == "")
        #expect(client.held == line.utf8.count, "nothing more is taken")
        #expect(client.settle(client.rig.commit()) == "{\"accepted\":42}\n")
        #expect(client.feed("") == "")
        #expect(client.pause == .needsInput && client.held == 0)
        #expect(client.settle(client.rig.commit()) == "{\"accepted\":43}\n")
    }

    @Test func pausesWhileTooManyAnswersWait() {
        var client = LineClient(SessionRig())
        var answers = client.feed(String(repeating: "{}\n1\n", count: 300))
        #expect(client.pause == .answersFull)
        for _ in 0..<3 {
            answers += client.settle(client.rig.commit())
            answers += client.feed("")
        }
        #expect(answers.hasSuffix("{\"accepted\":300}\n" + error(600, 400, "not a JSON object")))
    }

    @Test func pausesWhileItsAnswersAreNotSent() {
        var client = LineClient(SessionRig())
        let text = String(repeating: "1\n", count: 30_000)
        var answers = client.feed(text)
        #expect(client.pause == .outputFull && answers.utf8.count < 70_000)
        while client.pause == .outputFull { answers += client.feed("") }
        #expect(answers.split(separator: "\n").count == 30_000)
    }

    @Test func givesTheSameAnswersHoweverTheInputIsCut() {
        let text = Array("{\"a\":1}\n\n{\"b\" : \"é\"}\r\n[1]\n{\"c\":{}}\n  \nx\n{}\n\"\u{1}\n{\"last\":[]}".utf8)
        var whole = LineClient(SessionRig())
        var expected = whole.feed(text, hasEnded: true)
        expected += whole.settle(whole.rig.commit())
        #expect(expected.contains("{\"accepted\":5}"))
        for cut in 0...text.count {
            var client = LineClient(SessionRig())
            var answers = client.feed(Array(text[..<cut]))
            answers += client.feed(Array(text[cut...]), hasEnded: true)
            answers += client.settle(client.rig.commit())
            #expect(answers == expected, "cut at \(cut)")
            #expect(client.rig.stored.map(\.event) == whole.rig.stored.map(\.event))
            #expect(client.session.isFinished)
        }
        var limits = IntakeLimits()
        limits.maximumEventBytes = 10
        limits.maximumRequestBytes = 6_000
        let long = Array((String(repeating: "y", count: 5_000) + "\n{}\n" + String(repeating: "z", count: 7_000)).utf8)
        for step in [1, 7, 1_000, 4_096, 20_000] {
            var client = LineClient(SessionRig(limits))
            var answers = ""
            for start in stride(from: 0, to: long.count, by: step) {
                answers += client.feed(Array(long[start..<min(start + step, long.count)]))
            }
            answers += client.settle(client.rig.commit())
            let detail = "an event has at most 10 bytes"
            #expect(answers == error(1, 413, detail) + "{\"accepted\":1}\n" + error(3, 413, detail), "step \(step)")
        }
    }

    @Test(arguments: [UInt64(11), 2_026])
    func conservesEveryLineOfRandomTraffic(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let lines = ["{}", "{\"a\":[1,2]}", "", "  ", "[1]", "x", "{\"a\"", "\u{7F}", "{}\u{0}", "1"]
        for _ in 0..<30 {
            let text = (0..<Int.random(in: 1...60, using: &random)).map { _ in lines.randomElement(using: &random) ?? ""
            }
            let bytes = Array((text.joined(separator: "\n") + "\n").utf8)
            var client = LineClient(SessionRig())
            var answers = ""
            var at = 0
            while at < bytes.count {
                let end = min(bytes.count, at + Int.random(in: 1...40, using: &random))
                answers += client.feed(Array(bytes[at..<end]))
                if Bool.random(using: &random) { answers += client.settle(client.rig.commit()) }
                at = end
            }
            answers += client.settle(client.rig.commit())
            let good = text.filter { $0.hasPrefix("{") && $0.hasSuffix("}") }
            let bad = text.indices.filter { !text[$0].allSatisfy { $0 == " " } && !good.contains(text[$0]) }
            let values = try answers.split(separator: "\n").map { try JSONValue(parsing: Array($0.utf8)) }
            #expect(client.rig.stored.map(\.event) == good, "seed \(seed)")
            #expect(values.compactMap { $0["error"]?["line"]?.integer } == bad.map { Int64($0 + 1) }, "seed \(seed)")
            #expect(
                values.last { $0["accepted"] != nil }?["accepted"]?.integer ?? 0 == Int64(good.count), "seed \(seed)")
            var before: Int64 = 0
            for value in values {
                if let accepted = value["accepted"]?.integer { before = accepted }
                guard let line = value["error"]?["line"]?.integer else { continue }
                let covered = text.prefix(Int(line)).count { good.contains($0) }
                #expect(before >= Int64(covered), "seed \(seed): the error of line \(line) came too early")
            }
        }
    }
}
