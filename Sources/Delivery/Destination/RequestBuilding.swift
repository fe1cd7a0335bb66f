internal import Bytes

/// Builds the requests of one destination.
struct RequestBuilding: Sendable {
    private let settings: DestinationSettings
    private let checkHeaders: [HeaderField]
    private let batchHeaders: [HeaderField]
    let secrets: Secrets

    /// `userAgent` is `uplinkd/VERSION`.
    init(_ settings: DestinationSettings, userAgent: String) {
        self.settings = settings
        secrets = Secrets(settings)
        var headers = settings.headers
        if let token = settings.token {
            headers.append(HeaderField(name: "Authorization", value: "Bearer " + token.text))
        }
        if headers.first(named: "User-Agent") == nil {
            headers.append(HeaderField(name: "User-Agent", value: userAgent))
        }
        checkHeaders = headers.filter { !$0.name.utf8.elementsEqual(ignoringCase: "content-type".utf8) }
        if headers.first(named: "Content-Type") == nil {
            headers.append(HeaderField(name: "Content-Type", value: settings.format.layout.contentType))
        }
        batchHeaders = headers
    }

    /// True where a batch is compressed, unless it must not be.
    func isCompressed(_ batch: Batch) -> Bool {
        settings.gzipLevel != nil && batch.body.count >= OutgoingRequest.compressionMinimum
    }

    /// The request that carries a batch for the time that its `attempts` says; `isPlain`, it is not compressed.
    func post(_ batch: Batch, id: UInt64, isPlain: Bool) -> OutgoingRequest {
        let own = [
            HeaderField(name: "Idempotency-Key", value: "\"\(batch.id)\""),
            HeaderField(name: "Uplink-Attempt", value: "\(batch.attempts)"),
        ]
        return OutgoingRequest(
            id: id, destination: settings.name, method: .post,
            url: settings.format.layout.url(settings.url, events: batch.events), proxy: settings.proxy,
            headers: batchHeaders + own,
            body: batch.body, gzipLevel: isPlain ? nil : settings.gzipLevel, connectTimeout: settings.connectTimeout,
            timeout: settings.timeout, isCheck: false)
    }

    /// The request that carries nothing and only finds out whether the destination answers.
    func check(id: UInt64) -> OutgoingRequest {
        OutgoingRequest(
            id: id, destination: settings.name, method: .get, url: settings.checkURL ?? settings.url,
            proxy: settings.proxy, headers: checkHeaders, body: [], gzipLevel: nil,
            connectTimeout: settings.connectTimeout,
            timeout: settings.timeout, isCheck: true)
    }

    /// True where an answer can only be the destination's own.
    func isFromDestination(_ answer: TransportAnswer) -> Bool {
        if answer.isVerifiedPeer { return true }
        guard let expected = settings.expectHeader else { return false }
        return answer.headers.contains { field in
            field.name.utf8.elementsEqual(ignoringCase: expected.name.utf8)
                && (expected.value.map { $0 == field.value } ?? true)
        }
    }
}
