internal import JSON

/// What a probe found, as lines for people; texts of others are made printable.
struct ProbeScreen {
    private static let labelWidth = 9

    private(set) var lines: [String] = []

    init(_ report: JSONValue) {
        lines.append("\(report.shown("destination")): \(report.shown("url"))")
        if let proxy = report.text("proxy") {
            let said = report["proxy_status"]?.integer.map { ", which answered \($0) to CONNECT" } ?? ""
            add("proxy", proxy + said)
        }
        if let lookup = report["dns"], lookup.members != nil { addLookup(lookup) }
        for route in report["routes"]?.array ?? [] { addRoute(route) }
        for connection in report["tcp"]?.array ?? [] {
            let place = "\(connection.shown("address")) port \(connection["port"]?.integer ?? 0)"
            let came = connection.milliseconds("ms").map { "connected in \($0)" } ?? connection.shown("problem")
            add("TCP", "\(place): \(came)")
        }
        if let handshake = report["tls"], handshake.members != nil { addHandshake(handshake) }
        if let exchange = report["http"], exchange.members != nil { addExchange(exchange) }
        lines.append(report.shown("next"))
    }

    private mutating func add(_ label: String, _ text: String) {
        let padding = String(repeating: " ", count: max(1, Self.labelWidth - 2 - label.count))
        lines.append("  " + label + padding + text)
    }

    private mutating func addLookup(_ lookup: JSONValue) {
        guard lookup.text("from") != "literal" else { return }
        let addresses = lookup.texts("addresses")
        let found = addresses.isEmpty ? "no address" : addresses.joined(separator: ", ")
        let time = lookup.milliseconds("ms").map { " in \($0)" } ?? ""
        let servers = lookup.texts("name_servers")
        let asked = servers.isEmpty ? "" : " (name server \(servers.joined(separator: ", ")))"
        add("DNS", "\(lookup.shown("host")): \(found)\(time)\(asked)")
        guard let problem = lookup.text("problem") else { return }
        add("", problem + (addresses.isEmpty ? "" : "; the addresses are from before"))
    }

    private mutating func addRoute(_ route: JSONValue) {
        let parts = [
            route.text("interface").map { "by \($0)" }, route.text("connection_type").map { "(\($0))" },
            route.text("gateway").map { "gateway \($0)" }, route.text("source").map { "source \($0)" },
        ]
        let way = route.text("problem") ?? parts.compactMap { $0 }.joined(separator: " ")
        add("route", "\(route.shown("address")): \(way); kernel: \(route.shown("kernel"))")
    }

    private mutating func addHandshake(_ handshake: JSONValue) {
        if let name = handshake.text("protocol") {
            let fits = handshake["host_matches"]?.boolean == true ? "is" : "is not"
            add("TLS", "\(name), the certificate \(fits) for \(handshake.shown("host"))")
        }
        for (number, certificate) in (handshake["chain"]?.array ?? []).enumerated() {
            let from = certificate.shown("valid_from").prefix(10)
            let to = certificate.shown("valid_to").prefix(10)
            let issuer = certificate.shown("issuer")
            add("", "\(number + 1) \(certificate.shown("subject")), from \(from) to \(to), issued by \(issuer)")
        }
        if let problem = handshake.text("problem") { add(handshake.text("protocol") == nil ? "TLS" : "", problem) }
    }

    private mutating func addExchange(_ exchange: JSONValue) {
        let answer = exchange.text("first_line") ?? exchange["status"]?.integer.map { "\($0)" }
        add("HTTP", "\(exchange.shown("method")): \(answer ?? exchange.text("problem") ?? "no answer")")
        if let location = exchange.text("location") { add("", "location \(location)") }
        if let body = exchange.text("body") { add("", body) }
        let times = [
            ("connected", "connected_ms"), ("TLS", "tls_ms"), ("first byte", "first_byte_ms"), ("end", "ended_ms"),
        ].compactMap { label, name in exchange.milliseconds(name).map { "\(label) \($0)" } }
        if !times.isEmpty { add("", "after its start: " + times.joined(separator: ", ")) }
    }
}

extension JSONValue {
    /// The text of a member, printable; nil where it is none or empty.
    fileprivate func text(_ name: String) -> String? {
        self[name]?.string.flatMap { $0.isEmpty ? nil : $0.printable }
    }

    fileprivate func shown(_ name: String) -> String { text(name) ?? "?" }

    fileprivate func texts(_ name: String) -> [String] {
        (self[name]?.array ?? []).compactMap { $0.string?.printable }
    }

    /// `12.3 ms`.
    fileprivate func milliseconds(_ name: String) -> String? {
        self[name]?.double.map { Quantity.microseconds(Int64(max(0, min(1e9, $0)) * 1_000)) }
    }
}
