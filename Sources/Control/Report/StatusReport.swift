package import Time

/// All that `GET /v1/status` and `GET /metrics` tell, at one moment; a field without a value is null in JSON.
package struct StatusReport: Sendable, Equatable {
    /// What the daemon as a whole is doing; the raw values are what users see.
    package enum State: String, Sendable, CaseIterable {
        case running
        /// It serves, but its storage does not take everything.
        case degraded
        case stopping
    }

    /// The program's version.
    package var version: String
    /// Since the process started.
    package var uptime: Duration
    package var state: State
    /// How long the loop was busy at once, at most, since the start.
    package var longestTurn = Duration.zero
    /// The wall clock is synchronised (adjtimex(2)).
    package var isClockSynchronised: Bool
    package var network: NetworkReport
    package var intake: IntakeReport
    /// In the order of the configuration file, then those removed from it; at most some dozens.
    package var destinations: [DestinationReport]
    package var queue: QueueReport
    package var storage: StorageReport
    /// The state of each consent category by its name: `allow`, `hold` or `deny`.
    package var consent: [String: String]
    /// Why some of them are on hold that an operator had set, for people.
    package var consentDetail: String?

    /// A report of these parts.
    package init(
        version: String, uptime: Duration, state: State, isClockSynchronised: Bool, network: NetworkReport,
        intake: IntakeReport, destinations: [DestinationReport], queue: QueueReport, storage: StorageReport,
        consent: [String: String]
    ) {
        self.version = version
        self.uptime = uptime
        self.state = state
        self.isClockSynchronised = isClockSynchronised
        self.network = network
        self.intake = intake
        self.destinations = destinations
        self.queue = queue
        self.storage = storage
        self.consent = consent
    }
}

/// The machine's own link.
package struct NetworkReport: Sendable, Equatable {
    /// A name of `network_connection_type`: `ethernet`, `wifi`, …, `none`.
    package var connectionType: String
    /// When it became that.
    package var since: WallTime?
    /// What the kernel announced, by its group; metrics only, as are the next two.
    package var messages: [String: UInt64] = [:]
    /// How often announcements were lost.
    package var overruns: UInt64 = 0
    /// How often the kernel was asked for a way.
    package var evaluations: UInt64 = 0

    /// A report of these parts.
    package init(connectionType: String, since: WallTime?) {
        self.connectionType = connectionType
        self.since = since
    }
}

/// The events socket, counted since the process started.
package struct IntakeReport: Sendable, Equatable {
    /// Events taken and made durable.
    package var accepted: UInt64
    /// Events or requests answered with an error.
    package var refused: UInt64
    /// Events that were a repeat of an earlier one.
    package var duplicates: UInt64
    /// Clients connected now.
    package var connections: Int

    /// A report of these parts.
    package init(accepted: UInt64, refused: UInt64, duplicates: UInt64, connections: Int) {
        self.accepted = accepted
        self.refused = refused
        self.duplicates = duplicates
        self.connections = connections
    }
}

/// What is stored.
package struct QueueReport: Sendable, Equatable {
    /// One log's share.
    package struct Log: Sendable, Equatable {
        /// Events stored.
        package var events: UInt64
        /// Bytes on disk.
        package var bytes: UInt64

        /// A report of these parts.
        package init(events: UInt64, bytes: UInt64) {
            self.events = events
            self.bytes = bytes
        }
    }

    /// What bounds the queue; the raw values are what users see.
    package enum Bound: String, Sendable {
        case maximumSize = "max-size"
        /// The bytes that the file system has free.
        case fileSystem = "file-system"
        /// How many files it can have.
        case files
        case quota
    }

    /// Where it is (`Directory=`).
    package var directory: String
    /// Bytes on disk, as `du` counts.
    package var bytes: UInt64
    /// `MaxSize=` in bytes.
    package var limitBytes: UInt64
    /// What it may come to now, in bytes: `limitBytes`, or less where the file system has not the room.
    package var boundBytes: UInt64
    /// What sets that bound, or has refused an event of late.
    package var bound = Bound.maximumSize
    /// Bytes that the file system has free and `KeepFree=` keeps.
    package var keptFreeBytes: UInt64 = 0
    /// The lanes that are refused for want of room, the least urgent first.
    package var refused: [String] = []
    /// By the log's name.
    package var logs: [String: Log]
    /// For how long there is room at the rate of the last day; nil while that is not known.
    package var room: Duration?

    /// A report of these parts.
    package init(directory: String, bytes: UInt64, limitBytes: UInt64, logs: [String: Log], room: Duration?) {
        self.directory = directory
        self.bytes = bytes
        self.limitBytes = limitBytes
        boundBytes = limitBytes
        self.logs = logs
        self.room = room
    }
}

/// How the disk does.
package struct StorageReport: Sendable, Equatable {
    /// The raw values are what users see.
    package enum State: String, Sendable, CaseIterable {
        case ok
        /// A call to the disk takes over a second.
        case slow
        /// The file system has no more room for the queue.
        case full
        case readOnly = "read-only"
        /// Writes or syncs fail.
        case failing
    }

    package var state: State
    /// How long the last sync took.
    package var lastSync: Duration?
    /// What is wrong, for people.
    package var detail: String?

    /// A report of these parts.
    package init(state: State, lastSync: Duration?, detail: String?) {
        self.state = state
        self.lastSync = lastSync
        self.detail = detail
    }
}
