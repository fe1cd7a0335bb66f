extension ValueKind where Value == QueueSection.Reserve {
    /// `5%` of the file system, or a size.
    static let reserve = ValueKind(
        { text throws(BadValue) in
            guard text.hasSuffix("%") else { return .bytes(try ValueKind<Int>.size(0...1 << 50).parse(text)) }
            return .percent(try ValueKind<Int>.number(0...90).parse(String(text.dropLast())))
        },
        show: { reserve in
            switch reserve {
            case .percent(let percent): "\(percent)%"
            case .bytes(let bytes): sizeText(bytes)
            }
        })
}

extension ValueKind where Value == QueueSection.Block {
    /// `auto`, or a power of two from 512 to 64K.
    static let block = ValueKind(
        { text throws(BadValue) in
            if text == "auto" { return .automatic }
            let value = try ValueKind<Int>.size(512...65_536).parse(text)
            guard value & (value - 1) == 0 else { throw BadValue("\(text) is not a power of two") }
            return .bytes(value)
        },
        show: { block in
            switch block {
            case .automatic: "auto"
            case .bytes(let bytes): sizeText(bytes)
            }
        })
}

extension ValueKind where Value == ReachabilitySection.InterfaceType {
    /// `wwan*:cellular`.
    static let interfaceType = ValueKind(
        { text throws(BadValue) in
            let halves = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard halves.count == 2, (1...15).contains(halves[0].utf8.count) else {
                throw BadValue("'\(text)' is not NAME:TYPE, such as wwan*:cellular")
            }
            guard connectionTypes.contains(halves[1]) else {
                throw unknownWord(halves[1], connectionTypes, at: halves[0].unicodeScalars.count + 1)
            }
            return Value(pattern: halves[0], type: halves[1])
        }, show: { "\($0.pattern):\($0.type)" })
}
