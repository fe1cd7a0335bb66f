internal import Bytes
internal import JSON
package import Time

extension Change {
    /// Its line.
    package func line(at time: WallTime) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("at", time.rfc3339.text)
        writer.member("kind", kind.rawValue)
        writer.member("destination", destination)
        writer.member("from", from)
        writer.member("to", to)
        writer.member("reason", reason)
        writer.member("detail", detail)
        writer.member("cause", cause)
        writer.endObject()
        return writer.bytes + [UInt8(ascii: "\n")]
    }
}
