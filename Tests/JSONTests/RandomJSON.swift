import Bytes

/// Random JSON texts, and random damage to them.
struct RandomJSON {
    var random: SplitMix64

    init(seed: UInt64) { random = SplitMix64(seed: seed) }

    mutating func text() -> [UInt8] {
        var text: [UInt8] = []
        space(&text)
        value(&text, depth: 0)
        space(&text)
        return text
    }

    mutating func object() -> [UInt8] {
        var text: [UInt8] = []
        object(&text, depth: 0)
        return text
    }

    mutating func damaged(_ text: [UInt8]) -> [UInt8] {
        var text = text
        for _ in 0..<Int.random(in: 1...3, using: &random) {
            let at = Int.random(in: 0...text.count, using: &random)
            let byte =
                Bool.random(using: &random)
                ? Array("{}[]\",:\\ 0e.-u\n".utf8).randomElement(using: &random) ?? 0
                : UInt8.random(in: 0...255, using: &random)
            switch Int.random(in: 0..<4, using: &random) {
            case 0: text.insert(byte, at: at)
            case 1 where at < text.count: text.remove(at: at)
            case 2: text.removeSubrange(at...)
            default: if at < text.count { text[at] = byte }
            }
        }
        return text
    }

    private mutating func space(_ text: inout [UInt8]) {
        for _ in 0..<max(0, Int.random(in: -4...3, using: &random)) {
            text.append(Array(" \t\r\n".utf8).randomElement(using: &random) ?? 0x20)
        }
    }

    private mutating func value(_ text: inout [UInt8], depth: Int) {
        switch Int.random(in: 0..<(depth < 6 ? 8 : 5), using: &random) {
        case 0: string(&text)
        case 1:
            let numbers = ["0", "-0", "1", "-12.5", "1e5", "0.25E-3", "123456789012345678901234567890", "1E+400"]
            text += Array((numbers.randomElement(using: &random) ?? "0").utf8)
        case 2: text += Array("true".utf8)
        case 3: text += Array("false".utf8)
        case 4: text += Array("null".utf8)
        case 5: array(&text, depth: depth)
        default: object(&text, depth: depth)
        }
    }

    private mutating func array(_ text: inout [UInt8], depth: Int) {
        text.append(UInt8(ascii: "["))
        space(&text)
        for index in 0..<Int.random(in: 0...4, using: &random) {
            if index > 0 { text.append(UInt8(ascii: ",")) }
            space(&text)
            value(&text, depth: depth + 1)
            space(&text)
        }
        text.append(UInt8(ascii: "]"))
    }

    private mutating func object(_ text: inout [UInt8], depth: Int) {
        text.append(UInt8(ascii: "{"))
        space(&text)
        for index in 0..<Int.random(in: 0...5, using: &random) {
            if index > 0 { text.append(UInt8(ascii: ",")) }
            space(&text)
            string(&text)
            space(&text)
            text.append(UInt8(ascii: ":"))
            space(&text)
            value(&text, depth: depth + 1)
            space(&text)
        }
        text.append(UInt8(ascii: "}"))
    }

    private mutating func string(_ text: inout [UInt8]) {
        let parts = [
            "a", "event", "was_queued", "hello, world, this is a longer text", "ü", "€", "😀", "\\n", "\\\"", "\\\\",
            "\\u0041", "\\ud83d\\ude00", "\\ud800", "{", "]", ":", "/", "\u{7F}", "\\u00e9",
        ]
        text.append(UInt8(ascii: "\""))
        for _ in 0..<Int.random(in: 0...4, using: &random) {
            text += Array((parts.randomElement(using: &random) ?? "").utf8)
        }
        text.append(UInt8(ascii: "\""))
    }
}
