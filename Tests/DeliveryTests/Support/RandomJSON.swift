import Bytes

/// Random JSON text with all that makes a splice go wrong: white space, escapes, braces in strings, reserved names.
enum RandomJSON {
    static func object(_ random: inout SplitMix64, depth: Int) -> [UInt8] {
        var text: [UInt8] = []
        space(&random, &text)
        text.append("{")
        space(&random, &text)
        for index in 0..<Int.random(in: 0...5, using: &random) {
            if index > 0 { text.append(",") }
            space(&random, &text)
            name(&random, &text)
            space(&random, &text)
            text.append(":")
            value(&random, &text, depth: depth + 1)
            space(&random, &text)
        }
        text.append("}")
        space(&random, &text)
        return text
    }

    private static func space(_ random: inout SplitMix64, _ text: inout [UInt8]) {
        guard Int.random(in: 0..<4, using: &random) == 0 else { return }
        text += Array([" ", "\n", "\r\n", "\t"].randomElement(using: &random)?.utf8 ?? "".utf8)
    }

    private static func name(_ random: inout SplitMix64, _ text: inout [UInt8]) {
        let names = [
            "a", "", "event", "was_queued", "was\\u005Fqueued", "queue_reason", "network_connection_type",
            "accepted_at",
            "event_id", "\\u0065vent_id", "was_queued2", "x\\\"}", "sent_connection_type",
        ]
        text.append(utf8: "\"" + (names.randomElement(using: &random) ?? "") + "\"")
    }

    private static func value(_ random: inout SplitMix64, _ text: inout [UInt8], depth: Int) {
        let scalars = [
            "null", "true", "-0.5e+300", "12345678901234567890", "\"\"", "\"}{][,:\"", "\"\\\\\"",
            "\"\\\"was_queued\\\":\"",
            "\"äöü€😀\"", "[]",
        ]
        switch Int.random(in: 0..<6, using: &random) {
        case 0 where depth < 4: text += object(&random, depth: depth)
        case 1 where depth < 4:
            text.append("[")
            value(&random, &text, depth: depth + 1)
            text.append(",")
            value(&random, &text, depth: depth + 1)
            text.append("]")
        default: text.append(utf8: scalars.randomElement(using: &random) ?? "0")
        }
    }
}
