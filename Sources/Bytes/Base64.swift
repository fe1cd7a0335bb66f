/// Base64 (RFC 4648, section 4).
package enum Base64 {
    private static let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    /// The digits of some bytes, padded with `=`.
    package static func digits(of bytes: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            let padded = group + repeatElement(0, count: 3 - group.count)
            let bits = padded.reduce(0) { $0 << 8 | Int($1) }
            for place in 0..<4 {
                result.append(place <= group.count ? digits[bits >> (18 - 6 * place) & 63] : UInt8(ascii: "="))
            }
        }
        return result
    }
}
