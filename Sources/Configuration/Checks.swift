internal import Time

/// What is asked of settings together, after all files are read.
struct Checks {
    let configuration: Configuration
    /// Where each destination's first section begins, in their order.
    let destinationOrigins: [Origin]
    /// Where problems of the whole are reported.
    let wholeOrigin: Origin

    func run(_ problems: inout ProblemList) {
        let intake = configuration.intake
        if intake.maximumEventBytes > intake.maximumRequestBytes {
            problems.add(
                .error, at: origin("Intake", nil, "MaxEventSize", or: "MaxRequestSize"),
                "MaxEventSize=\(sizeText(intake.maximumEventBytes)) is more than "
                    + "MaxRequestSize=\(sizeText(intake.maximumRequestBytes))")
        }
        if intake.socket == configuration.control.socket {
            problems.add(
                .error, at: origin("Control", nil, "Socket"), "Socket=: the events and the control socket are the same")
        }
        if configuration.destinations.isEmpty {
            problems.add(
                .warning, at: wholeOrigin, "there is no [Destination \"NAME\"]: events are kept, and sent nowhere")
        }
        for (destination, origin) in zip(configuration.destinations, destinationOrigins) {
            check(destination, beginning: origin, &problems)
        }
    }

    private func check(_ destination: DestinationSection, beginning: Origin, _ problems: inout ProblemList) {
        let place = { (key: String, other: String?) in
            origin("Destination", destination.name, key, or: other, else: beginning)
        }
        let urlName = SettingName(section: "Destination", instance: destination.name, key: "URL")
        if destination.url == nil, configuration.origins[urlName] == nil {
            problems.add(.error, at: beginning, "destination \(destination.name) has no URL=")
        }
        for (key, url) in [("URL", destination.url), ("CheckURL", destination.checkURL)] {
            if let url, url.scheme == .http, !url.isLocal, !destination.plainHTTP {
                problems.add(
                    .error, at: place(key, nil),
                    "\(key)=: plain http to \(url.host) can be read and answered by others on the way: use https, or "
                        + "allow it by PlainHTTP=yes and name in ExpectHeader= a header that only the collector sends")
            }
        }
        if destination.checksElsewhere {
            problems.add(
                .error, at: place("CheckURL", nil),
                "CheckURL=: a check goes to the scheme, host and port, or the socket, of URL=")
        }
        if destination.plainHTTP, destination.expectHeader == nil {
            problems.add(
                .error, at: place("PlainHTTP", nil),
                "PlainHTTP=yes needs ExpectHeader=, which tells the collector's answers from a portal's")
        }
        if destination.clientKey != nil, destination.clientCertificate == nil {
            problems.add(.error, at: place("ClientKey", nil), "ClientKey= needs ClientCertificate=")
        }
        if destination.proxy != nil, let url = destination.url, url.scheme != .https, url.isLocal {
            problems.add(
                .error, at: place("Proxy", nil), "Proxy=: a destination on this machine is not asked by a proxy")
        }
        if destination.format == .cloudevents,
            destination.cloudEventsSource == nil || destination.cloudEventsType == nil
        {
            problems.add(
                .error, at: place("Format", nil),
                "Format=cloudevents needs CloudEventsSource= and CloudEventsType=, "
                    + "for events that are posted as plain JSON")
        }
        if destination.retryMinimum > destination.retryMaximum {
            problems.add(
                .error, at: place("RetryMin", "RetryMax"),
                "RetryMin=\(destination.retryMinimum.spanText) is more than "
                    + "RetryMax=\(destination.retryMaximum.spanText)")
        }
        if destination.connectTimeout > destination.timeout {
            problems.add(
                .warning, at: place("ConnectTimeout", "Timeout"),
                "ConnectTimeout=\(destination.connectTimeout.spanText) is more than "
                    + "Timeout=\(destination.timeout.spanText), which ends the request first")
        }
        let hasOwn = destination.headers.contains { $0.name.lowercased() == "authorization" }
        if hasOwn, destination.tokenFile != nil || destination.credential != nil {
            problems.add(
                .error, at: place("Header", nil),
                "Header=: Authorization is given here and by TokenFile= or Credential=")
        }
        if destination.tokenFile != nil, destination.credential != nil {
            problems.add(.error, at: place("Credential", nil), "both TokenFile= and Credential= are given")
        }
    }

    private func origin(
        _ section: String, _ instance: String?, _ key: String, or other: String? = nil, else fallback: Origin? = nil
    ) -> Origin {
        for key in [key, other].compactMap({ $0 }) {
            let name = SettingName(section: section, instance: instance, key: key)
            if let origin = configuration.origins[name]?.last { return origin }
        }
        return fallback ?? wholeOrigin
    }
}

extension DestinationSection {
    /// True where a check, which nothing else forbids, would prove the way to something else.
    fileprivate var checksElsewhere: Bool {
        guard let url, let checkURL, checkURL.scheme != .http || checkURL.isLocal || plainHTTP else { return false }
        return (checkURL.scheme, checkURL.host, checkURL.port, checkURL.socketPath)
            != (url.scheme, url.host, url.port, url.socketPath)
    }
}
