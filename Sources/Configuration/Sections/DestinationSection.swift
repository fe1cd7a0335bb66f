/// `[Destination "NAME"]`: a collector, and how events are sent to it.
package struct DestinationSection: Sendable, Equatable {
    /// How the events of a request are laid out.
    package enum Format: String, Sendable, CaseIterable { case json, ndjson, object, cloudevents, tealium }

    /// How bodies are compressed.
    package enum Compression: Sendable, Equatable {
        case none
        /// Levels 1 to 9.
        case gzip(level: Int)
    }

    /// A member that is added to each event.
    package enum Member: String, Sendable, CaseIterable {
        case wasQueued = "was_queued"
        case queueReason = "queue_reason"
        case networkConnectionType = "network_connection_type"
        case sentConnectionType = "sent_connection_type"
        case eventID = "event_id"
        case acceptedAt = "accepted_at"
    }

    /// A header line of every request; its value may be a secret.
    package struct Header: Sendable, Equatable {
        package let name: String
        package let value: String
    }

    /// A header that a success must carry.
    package struct ExpectedHeader: Sendable, Equatable {
        package let name: String
        /// nil: any value.
        package let value: String?
    }

    /// The kinds of network by which it may be sent to.
    package struct NetworkTypes: Sendable, Equatable {
        /// A lane that they are for; nil: all that have none of their own.
        package let lane: String?
        /// Names of connection types, at least one.
        package let types: [String]
    }

    /// Over how long a backlog is spread after an outage.
    package enum FlushSpread: Sendable, Equatable {
        case automatic
        /// Zero turns it off.
        case limit(Duration)
    }

    /// `[a-z0-9-]{1,32}`.
    package let name: String
    /// nil only in a configuration that was refused.
    package var url: ServerURL?
    package var plainHTTP = false
    package var expectHeader: ExpectedHeader?
    package var format: Format = .json
    package var batchMaximumEvents = 500
    package var batchMaximumBytes = 1 << 20
    package var compression: Compression = .gzip(level: 1)
    package var enrichWith: [Member] = [.wasQueued, .queueReason, .networkConnectionType, .eventID, .acceptedAt]
    package var headers: [Header] = []
    /// An absolute path.
    package var tokenFile: String?
    /// A name in $CREDENTIALS_DIRECTORY.
    package var credential: String?
    package var connectTimeout: Duration = .seconds(10)
    package var timeout: Duration = .seconds(30)
    package var retryMinimum: Duration = .seconds(1)
    package var retryMaximum: Duration = .seconds(300)
    package var flushSpread: FlushSpread = .automatic
    /// nil: no limit.
    package var maximumEventsPerSecond: Int?
    /// Empty: any.
    package var networkTypes: [NetworkTypes] = []
    /// nil: the URL.
    package var checkURL: ServerURL?
    /// An absolute path of a PEM file; nil: the system's store.
    package var caCertificate: String?
    /// An absolute path of a PEM file.
    package var clientCertificate: String?
    /// An absolute path of a PEM file; nil: the certificate's file.
    package var clientKey: String?
    package var proxy: ProxyURL?
    package var cloudEventsSource: String?
    package var cloudEventsType: String?

    /// The defaults under that name.
    package init(name: String) { self.name = name }
}
