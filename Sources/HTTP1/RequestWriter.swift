internal import Bytes

/// Writes requests.
package enum RequestWriter {
    /// Appends a whole request; `target` is percent-encoded already, `Content-Length` is added where there is a body.
    package static func append(
        method: String, target: String, host: String, fields: [(name: String, value: String)] = [],
        body: [UInt8]? = nil, to output: inout [UInt8]
    ) {
        precondition(
            !(method + target).utf8.contains { $0 <= 0x20 || $0 >= 0x7F }, "a method or target that is no word")
        output.append(utf8: method)
        output.append(" ")
        output.append(utf8: target)
        output.append(" HTTP/1.1\r\n")
        ResponseWriter.appendField("Host", host, to: &output)
        for field in fields { ResponseWriter.appendField(field.name, field.value, to: &output) }
        if let body { ResponseWriter.appendField("Content-Length", "\(body.count)", to: &output) }
        output.append("\r\n")
        output += body ?? []
    }
}
