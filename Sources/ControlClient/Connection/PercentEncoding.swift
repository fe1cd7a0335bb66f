internal import Bytes

extension String {
    /// With everything but letters, digits, `-`, `.` and `_` percent-encoded, for a path or a query (RFC 3986, 2.1).
    var percentEncoded: String {
        var encoded: [UInt8] = []
        for byte in utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
                encoded.append(byte)
            default:
                encoded.append(UInt8(ascii: "%"))
                encoded += Hexadecimal.digits(UInt64(byte), count: 2)
            }
        }
        return encoded.text
    }
}
