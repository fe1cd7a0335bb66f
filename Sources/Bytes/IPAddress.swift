/// An IPv4 or IPv6 address.
package struct IPAddress: Hashable, Sendable, CustomStringConvertible {
    /// 4 or 16 bytes, in network order.
    package let bytes: [UInt8]

    /// An address of 4 or 16 bytes; nil for any other count.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == 4 || bytes.count == 16 else { return nil }
        self.bytes = bytes
    }

    /// True for the 16-byte kind.
    package var isIPv6: Bool { bytes.count == 16 }

    /// True for 127.0.0.0/8, ::1, and those mapped into IPv6.
    package var isLoopback: Bool {
        guard isIPv6 else { return bytes[0] == 127 }
        if bytes[0..<15].allSatisfy({ $0 == 0 }) { return bytes[15] == 1 }
        return bytes[0..<10].allSatisfy { $0 == 0 } && bytes[10] == 255 && bytes[11] == 255 && bytes[12] == 127
    }

    /// True for fe80::/10.
    package var isLinkLocal: Bool { isIPv6 && bytes[0] == 0xFE && bytes[1] & 0xC0 == 0x80 }

    /// Dotted decimal, or colon hexadecimal by RFC 5952.
    package var description: String {
        guard isIPv6 else { return bytes.map(String.init).joined(separator: ".") }
        let groups = stride(from: 0, to: 16, by: 2).map { UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]) }
        var zeros = 0..<0
        var start = 0
        while start < 8 {
            var end = start
            while end < 8, groups[end] == 0 { end += 1 }
            if end - start > zeros.count { zeros = start..<end }
            start = max(end, start + 1)
        }
        func text(_ range: Range<Int>) -> String {
            groups[range].map { String($0, radix: 16) }.joined(separator: ":")
        }
        guard zeros.count > 1 else { return text(0..<8) }
        return text(0..<zeros.lowerBound) + "::" + text(zeros.upperBound..<8)
    }

    /// Reads dotted decimal or RFC 4291 text, without brackets or zone; nil for anything else.
    package init?(text: some StringProtocol) {
        if let four = IPAddress.four(text) {
            self.bytes = four
            return
        }
        let halves = Self.split(text, at: "::")
        guard halves.count <= 2 else { return nil }
        guard let head = IPAddress.groups(halves[0]) else { return nil }
        guard halves.count == 2 else {
            guard head.count == 16 else { return nil }
            self.bytes = head
            return
        }
        guard let tail = IPAddress.groups(halves[1]), head.count + tail.count <= 14 else { return nil }
        self.bytes = head + [UInt8](repeating: 0, count: 16 - head.count - tail.count) + tail
    }

    private static func split(_ text: some StringProtocol, at separator: String) -> [String] {
        var parts: [String] = [""]
        var rest = Substring(text)
        while !rest.isEmpty {
            if rest.hasPrefix(separator) {
                parts.append("")
                rest = rest.dropFirst(separator.count)
            } else {
                parts[parts.count - 1].append(rest.removeFirst())
            }
        }
        return parts
    }

    private static func four(_ text: some StringProtocol) -> [UInt8]? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 4 else { return nil }
        let bytes = parts.compactMap { part -> UInt8? in
            let isNumber = (1...3).contains(part.utf8.count) && part.utf8.allSatisfy { (48...57).contains($0) }
            return isNumber && (part.count == 1 || part.first != "0") ? UInt8(part) : nil
        }
        return bytes.count == 4 ? bytes : nil
    }

    private static func groups(_ text: String) -> [UInt8]? {
        guard !text.isEmpty else { return [] }
        var bytes: [UInt8] = []
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        for (index, part) in parts.enumerated() {
            if index == parts.count - 1, part.contains(".") {
                guard let four = four(part) else { return nil }
                bytes += four
                continue
            }
            guard (1...4).contains(part.utf8.count), let value = Hexadecimal.value(Array(part.utf8)) else {
                return nil
            }
            bytes += [UInt8(value >> 8), UInt8(value & 255)]
        }
        return bytes.count <= 16 ? bytes : nil
    }
}
