extension IntakeSection: ConfigurationSection {
    static let defaults = IntakeSection()

    static let keys: [Key<IntakeSection>] = [
        .value("Socket", \.socket, .path(limit: 107), needsRestart: true),
        .value("SocketMode", \.socketMode, .mode, needsRestart: true),
        .optional("SocketGroup", \.socketGroup, .text(limit: 32), needsRestart: true),
        .value("MaxEventSize", \.maximumEventBytes, .size(64...4 << 20)),
        .value("MaxRequestSize", \.maximumRequestBytes, .size(64...4 << 20)),
        .value("MaxConnections", \.maximumConnections, .number(1...65_536)),
        .value("MaxConnectionsPerUser", \.maximumConnectionsPerUser, .number(1...65_536)),
        .value("IdleTimeout", \.idleTimeout, .duration(.milliseconds(100) ... .seconds(7 * 86_400))),
    ]
}

extension ControlSection: ConfigurationSection {
    static let defaults = ControlSection()

    static let keys: [Key<ControlSection>] = [
        .value("Socket", \.socket, .path(limit: 107), needsRestart: true),
        .value("SocketMode", \.socketMode, .mode, needsRestart: true),
        .optional("SocketGroup", \.socketGroup, .text(limit: 32), needsRestart: true),
    ]
}

extension QueueSection: ConfigurationSection {
    static let defaults = QueueSection()

    static let keys: [Key<QueueSection>] = [
        .value("Directory", \.directory, .path(), needsRestart: true),
        .value("MaxSize", \.maximumBytes, .size(1 << 20...1 << 46), needsRestart: true),
        .value("KeepFree", \.keepFree, .reserve, needsRestart: true),
        .optional("MaxAge", \.maximumAge, .duration(.seconds(1) ... .seconds(3_650 * 86_400)), needsRestart: true),
        .value("WhenFull", \.whenFull, .word, needsRestart: true),
        .value("Block", \.block, .block, needsRestart: true),
        .value("CommitDelay", \.commitDelay, .duration(.zero ... .seconds(60)), needsRestart: true),
    ]
}

extension ReachabilitySection: ConfigurationSection {
    static let defaults = ReachabilitySection()

    static let keys: [Key<ReachabilitySection>] = [
        .value("Check", \.check, .yesNo),
        .value("CheckInterval", \.checkInterval, .duration(.milliseconds(100) ... .seconds(86_400))),
        .list("InterfaceType", \.interfaceTypes, .interfaceType, atMost: 64),
    ]
}

extension ConsentSection: ConfigurationSection {
    static let defaults = ConsentSection()

    static let keys: [Key<ConsentSection>] = [.value("Default", \.fallback, .word)]
}

extension ConsentSection.Category: ConfigurationSection {
    static let defaults = ConsentSection.Category(name: "")

    static let keys: [Key<ConsentSection.Category>] = [
        .optional("State", \.state, .word)
    ]
}

extension DestinationSection: ConfigurationSection {
    static let defaults = DestinationSection(name: "")

    static let keys: [Key<DestinationSection>] = [
        .optional("URL", \.url, .url),
        .value("PlainHTTP", \.plainHTTP, .yesNo),
        .optional("ExpectHeader", \.expectHeader, .expectedHeader),
        .value("Format", \.format, .word),
        .value("BatchMaxEvents", \.batchMaximumEvents, .number(1...10_000)),
        .value("BatchMaxSize", \.batchMaximumBytes, .size(1 << 10...4 << 20)),
        .value("Compression", \.compression, .compression),
        .words("EnrichWith", \.enrichWith, ValueKind<DestinationSection.Member>.words),
        .list("Header", \.headers, .header, atMost: 32),
        .optional("TokenFile", \.tokenFile, .path()),
        .optional("Credential", \.credential, .fileName),
        .value("ConnectTimeout", \.connectTimeout, .duration(.milliseconds(100) ... .seconds(600))),
        .value("Timeout", \.timeout, .duration(.milliseconds(100) ... .seconds(3_600))),
        .value("RetryMin", \.retryMinimum, .duration(.milliseconds(10) ... .seconds(3_600))),
        .value("RetryMax", \.retryMaximum, .duration(.milliseconds(10) ... .seconds(86_400))),
        .value("FlushSpread", \.flushSpread, .flushSpread),
        .optional("MaxEventsPerSecond", \.maximumEventsPerSecond, .number(1...10_000_000)),
        .words("NetworkTypes", \.networkTypes, .networkTypes),
        .optional("CheckURL", \.checkURL, .url),
        .optional("CACertificate", \.caCertificate, .path()),
        .optional("ClientCertificate", \.clientCertificate, .path()),
        .optional("ClientKey", \.clientKey, .path()),
        .optional("Proxy", \.proxy, .proxy),
        .optional("CloudEventsSource", \.cloudEventsSource, .uriReference),
        .optional("CloudEventsType", \.cloudEventsType, .text(limit: 1_024)),
    ]
}
