internal import Bytes
internal import Delivery
internal import HTTPTransport
internal import JSON
internal import Posix
internal import Reachability
internal import Time

extension ProbeReport {
    /// Its JSON; the members stand in Documentation/control.md.
    var json: [UInt8] {
        let advice = advice
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("destination", settings.name)
        writer.member("url", url)
        writer.member("proxy", settings.proxy?.text)
        writer.member("proxy_status", findings.inspection?.proxyStatus)
        writer.member("state", standing.state.rawValue)
        writer.member("state_reason", standing.reason.rawValue)
        writeLookup(to: &writer)
        writeRoutes(to: &writer)
        writeConnections(to: &writer)
        writeHandshake(to: &writer)
        writeExchange(to: &writer)
        writer.member("took_ms", milliseconds: findings.span)
        writer.member("reason", advice.reason.rawValue)
        writer.member("next", advice.next)
        writer.endObject()
        return writer.bytes
    }

    private func writeLookup(to writer: inout JSONWriter) {
        writer.name("dns")
        guard let host = settings.connectHost, let lookup = findings.lookup else { return writer.null() }
        writer.beginObject()
        writer.member("host", host)
        writer.member("from", lookup.source.rawValue)
        writer.member("addresses", findings.addresses)
        writer.member("ms", milliseconds: lookup.span)
        writer.member("name_servers", findings.nameServers)
        writer.member("problem", lookup.failure?.text)
        writer.endObject()
    }

    private func writeRoutes(to writer: inout JSONWriter) {
        writer.name("routes")
        writer.beginArray()
        for way in findings.ways {
            writer.beginObject()
            writer.member("address", "\(way.address)")
            writer.member("interface", way.candidate.flatMap { $0.interfaceName.isEmpty ? nil : $0.interfaceName })
            writer.member("connection_type", way.candidate?.connectionType.name)
            writer.member("gateway", way.candidate?.path.gateway.map { "\($0)" })
            writer.member("source", way.candidate?.path.source.map { "\($0)" })
            writer.member("kernel", way.answer)
            writer.member("problem", way.refusal?.detail)
            writer.endObject()
        }
        writer.endArray()
    }

    private func writeConnections(to writer: inout JSONWriter) {
        writer.name("tcp")
        writer.beginArray()
        for connection in findings.connections {
            writer.beginObject()
            writer.member("address", "\(connection.address)")
            writer.member("port", settings.connectPort)
            writer.member("ms", milliseconds: connection.hasConnected ? connection.span : nil)
            writer.member("problem", connection.error.map { "\($0)" })
            writer.endObject()
        }
        writer.endArray()
    }

    private func writeHandshake(to writer: inout JSONWriter) {
        writer.name("tls")
        let server = findings.inspection?.server
        guard server != nil || failure?.reason == .tls else { return writer.null() }
        writer.beginObject()
        writer.member("protocol", server?.protocolName)
        writer.member("host", settings.url.host)
        writer.member("host_matches", server?.matches)
        writer.name("chain")
        writer.beginArray()
        for certificate in server?.certificates ?? [] {
            writer.beginObject()
            writer.member("subject", certificate.subject)
            writer.member("issuer", certificate.issuer)
            writer.member("names", certificate.names)
            writer.member("valid_from", certificate.begins.rfc3339.text)
            writer.member("valid_to", certificate.ends.rfc3339.text)
            writer.endObject()
        }
        writer.endArray()
        writer.member("problem", failure?.reason == .tls ? failure?.detail : nil)
        writer.endObject()
    }

    private func writeExchange(to writer: inout JSONWriter) {
        writer.name("http")
        guard let inspection = findings.inspection, failure?.reason != .tls else { return writer.null() }
        writer.beginObject()
        writer.member("method", OutgoingRequest.Method.get.rawValue)
        writer.member("url", url)
        writer.member("status", answer?.status)
        writer.member("first_line", inspection.statusLine.isEmpty ? nil : shown(Array(inspection.statusLine.utf8)))
        writer.member("location", location)
        writer.member("body", answer.flatMap { $0.body.isEmpty ? nil : shown($0.body) })
        writer.member("connected_ms", milliseconds: inspection.times.connected)
        writer.member("tls_ms", milliseconds: inspection.times.secured)
        writer.member("first_byte_ms", milliseconds: inspection.times.firstByte)
        writer.member("ended_ms", milliseconds: inspection.times.ended)
        writer.member("problem", failure?.detail)
        writer.endObject()
    }
}

extension JSONWriter {
    fileprivate mutating func member(_ name: String, milliseconds span: Duration?) {
        member(name, span.map { ($0.inSeconds * 10_000).rounded() / 10 })
    }

    fileprivate mutating func member(_ name: String, _ addresses: [IPAddress]) {
        self.name(name)
        beginArray()
        for address in addresses { string("\(address)") }
        endArray()
    }
}
