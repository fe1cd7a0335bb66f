/// Bytes with each `%XX` resolved (RFC 3986, 2.1); nil where a `%` is not followed by two hexadecimal digits.
package func percentDecoded(_ text: some Sequence<UInt8>) -> [UInt8]? {
    var bytes: [UInt8] = []
    var rest = Array(text)[...]
    while let byte = rest.popFirst() {
        guard byte == UInt8(ascii: "%") else {
            bytes.append(byte)
            continue
        }
        guard rest.count >= 2, let value = Hexadecimal.value(rest.prefix(2)) else { return nil }
        bytes.append(UInt8(value))
        rest = rest.dropFirst(2)
    }
    return bytes
}
