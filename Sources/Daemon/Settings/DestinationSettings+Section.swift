internal import Configuration
internal import Delivery
internal import Queue
internal import Reachability
internal import SystemdService

extension DestinationSettings {
    /// The settings of a section of the configuration, with the contents of the files that it names.
    init(_ section: DestinationSection, reader: inout FileReader) throws(DeliveryError) {
        guard let url = section.url else { throw .url("") }
        self.init(name: section.name, url: try DestinationURL(url.text))
        if let format = Format(rawValue: section.format.rawValue) { self.format = format }
        batchMaximumEvents = section.batchMaximumEvents
        batchMaximumBytes = section.batchMaximumBytes
        gzipLevel =
            switch section.compression {
            case .none: nil
            case .gzip(let level): level
            }
        enrichWith = section.enrichWith.compactMap { Member(rawValue: $0.rawValue) }
        headers = section.headers.map { HeaderField(name: $0.name, value: $0.value) }
        token = reader.token(of: section)
        if token == nil, section.tokenFile != nil || section.credential != nil {
            tokenFault = reader.notices.last?.message
        }
        maximumEventsPerSecond = section.maximumEventsPerSecond
        connectTimeout = section.connectTimeout
        timeout = section.timeout
        retryMinimum = section.retryMinimum
        retryMaximum = section.retryMaximum
        flushSpread =
            switch section.flushSpread {
            case .automatic: .automatic
            case .limit(let span): .fixed(span)
            }
        networkPolicy = NetworkPolicy(section.networkTypes)
        allowsPlainHTTP = section.plainHTTP
        if let expected = section.expectHeader {
            expectHeader = try ExpectedHeader(expected.name + (expected.value.map { ": " + $0 } ?? ""))
        }
        checkURL = try section.checkURL.map { check throws(DeliveryError) in try DestinationURL(check.text) }
        cloudEventsSource = section.cloudEventsSource ?? ""
        cloudEventsType = section.cloudEventsType ?? ""
        proxy = section.proxy.map { Proxy(host: $0.host, port: $0.port, user: $0.user, password: $0.password) }
        authority = reader.pem(section.caCertificate, setting: "CACertificate")
        clientCertificate = reader.pem(section.clientCertificate, setting: "ClientCertificate")
        // Without a file of its own the key stands in that of the certificate.
        clientKey = section.clientKey == nil ? clientCertificate : reader.pem(section.clientKey, setting: "ClientKey")
        try check()
    }
}

extension NetworkPolicy {
    /// The policy of `NetworkTypes=`.
    fileprivate init(_ entries: [DestinationSection.NetworkTypes]) {
        var general: Set<ConnectionType>?
        var own: [LogName: Set<ConnectionType>] = [:]
        for entry in entries {
            let types = Set(entry.types.compactMap(ConnectionType.init(name:)))
            if let lane = entry.lane.flatMap(LogName.init(text:)) { own[lane] = types } else { general = types }
        }
        self.init(general: general, own: own)
    }
}
