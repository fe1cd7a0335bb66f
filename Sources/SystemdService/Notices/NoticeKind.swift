/// How much a notice matters (syslog(3)).
package enum NoticePriority: Int, Sendable {
    case critical = 2
    case error = 3
    case warning = 4
    case notice = 5
    case info = 6
}

/// Each kind of notice; the raw value is its MESSAGE_ID, which never changes.
package enum NoticeKind: String, Sendable, CaseIterable {
    case started = "bef6b0e35792b5370569c47fcfea5070"
    case ready = "1306763b6bd59504f4d9220eb3d20363"
    case stopping = "4b50bc8835a9d28966b5052d00c1f8a2"
    case stopped = "82cf8cc46cc93b7bbaef801899e59f1f"
    case startFailed = "d5e8f9fc89ed37e71167b21e1c2f2090"
    case destinationReachable = "50016b101025ff82772be866a38ba58c"
    case destinationUnreachable = "01f7d7c2d8df85d21f29811ab0504694"
    case destinationVerifying = "5f23d4201efb1e2df266ffc69096e7c2"
    case destinationPortal = "a8171589e0241e0ba5cb78811f607f4e"
    case destinationHeld = "6013c3d6cdd0139865d8eb35c4b9bf61"
    case destinationReleased = "c00669fea9605b9ff02854496906355f"
    case destinationThrottled = "713d71b01aa0ba21a86901dcee02ba45"
    case eventRefused = "5a1c3b7f09de4c1e8b6f2d90a47e6c35"
    case destinationRemoved = "5d5ef89fe8d762f1ff97c4d84dead255"
    case destinationPaused = "0d7c41e5b8a24f6c9d1e63f2a5b80c47"
    case destinationPauseEnded = "023c0964a5e0d97f03bf923f9e653d59"
    case destinationResumed = "93b2f6a817c04d5e8a6c1f70d4e92b58"
    case destinationForgotten = "c85e0a7d41f24b39967d2e1b8f03a6c4"
    case destinationRenamed = "2fa4c9b36e1d4870b5f8d07c61e3a942"
    case lettersRetried = "7be19d05c3f84a2e8d46a0f1592c7b63"
    case lettersDropped = "e1640b8f92d74c5ba3c7f58d0e216a94"
    case flushFinished = "1bb031f80f8d1eadcf133fc8dc2bb5fb"
    case networkChanged = "c534eaffb2f177ab5b84cf4e211ca74d"
    case netlinkUnavailable = "536f6b077e7c3bbddb273bcd4cd0f577"
    case storageFailed = "de5f7c50b36a54e536e658b3746323ca"
    case storageCured = "798c80fb84ef8288c31008a3b1895c24"
    case diskSlow = "ac53a164353d260b10c73bfc0b0c930b"
    case tornTail = "01f83088b48518c8351ce20e75fbf0f1"
    case eventsQuarantined = "32368773859317deaa35552422b2e65b"
    case logMissing = "1ff8af696707f822ddb0dfd9dc68ea47"
    case eventsExpired = "6a1f0c9be2d34b57a4f86d0c3e917b25"
    case eventsEvicted = "c3d97e4410b64f0e8f2b5a7916ed08a3"
    case cursorReset = "b43336866203aca0d1b6eb489fdbccf1"
    case lettersAdopted = "5f2d80b91c6e4a37a4d1907e38cb62f5"
    case strayFile = "308e9e0a46bb4b4a9c05a351e7c1ac49"
    case recovered = "73f10ab9382e5d808b6d8365151c5db5"
    case consentChanged = "a4c81f60e92d4b7f8e35d07b16fa29c3"
    case consentLost = "5be0937d4c1246a8b1f7e82d90c35a6f"
    case eventsPurged = "d90f52a7b3c64e18a7624c8be1f05d93"
    case queueFilling = "433a54879be96b8074cafe05254aa33d"
    case intakeRefused = "34e0b71ddc1e0cf4a1b66b078fb4b9d6"
    case configurationWarning = "2b01125b62d17332b757e3cb7387a5ac"
    case configurationError = "444e36e6e7f02168abb947262020dc65"
    case reloaded = "786157ebc537fb5a53522e7bf1761ad6"
    case reloadRefused = "72b43d702b00c9ed56da6e82b12ab819"
    case fileUnreadable = "0ef2f9b9aa0f385c40f197483e4ef6bd"
    case loopStalled = "e45f7da250e282a040e2523bf8afe40b"
    case clockUnsynchronised = "c60a471fe4c74f8d18712d5e2c2899c2"
    case clockSynchronised = "b207a222174da6f389ec333a5ef64012"
    case linesDropped = "0132d435a9f0357bd3baffb244a7c973"
}

extension NoticeKind {
    /// What is in one state at a time, of which the kinds tell that have it in common.
    package enum Subject: String, Sendable {
        /// The way to a destination.
        case way
        /// Whether a destination takes requests.
        case acceptance
        /// What is kept for a destination that is not configured.
        case removal
        case storage
        case clock
        /// How full the queue is.
        case fill
        /// A place in the configuration.
        case configuration
        /// A file that the configuration names.
        case file

        /// What tells the things apart that have a state each.
        var distinguishedBy: [NoticeField] {
            switch self {
            case .way, .acceptance, .removal: [.destination]
            case .storage, .clock, .fill: []
            case .configuration: [.place]
            case .file: [.file, .setting]
            }
        }
    }

    var subject: Subject? {
        switch self {
        case .destinationReachable, .destinationUnreachable, .destinationVerifying, .destinationPortal: .way
        case .destinationHeld, .destinationReleased, .destinationThrottled: .acceptance
        case .destinationRemoved, .destinationForgotten, .destinationRenamed: .removal
        case .storageFailed, .storageCured: .storage
        case .clockUnsynchronised, .clockSynchronised: .clock
        case .queueFilling: .fill
        case .configurationWarning, .configurationError: .configuration
        case .fileUnreadable: .file
        default: nil
        }
    }
}

/// What a kind of notice says.
struct NoticeEntry: Sendable {
    let priority: NoticePriority
    /// Notices that agree in these fields are repeats of each other; nil: each is written.
    let distinguishedBy: [NoticeField]?
    /// The message: `@FIELD@` stands for a field, and what is in square brackets is left out where a field is missing.
    let text: String
    /// For the catalog: what it means.
    let meaning: String
    /// For the catalog: what to do.
    let action: String
}
