internal import Bytes
internal import Delivery
internal import HTTPTransport
internal import Posix
internal import Reachability
internal import Time

/// What an operator should do next, in a sentence, and what it is about.
struct ProbeAdvice: Equatable {
    /// `none` where all is well.
    let reason: StateReason
    let next: String

    init(_ reason: StateReason, _ next: String) {
        self.reason = reason
        self.next = next
    }
}

extension ProbeReport {
    /// The first thing on the way that is not as it should be, and what to do of it.
    var advice: ProbeAdvice {
        if let fault = settings.tokenFault ?? credentialsFault {
            return ProbeAdvice(
                credentialsFault == nil ? .unauthorized : .tls,
                "Nothing is sent: \(fault); mend the file, then 'uplinkctl reload'.")
        }
        return adviceOnName ?? adviceOnWay ?? adviceOnConnection ?? adviceOnTLS ?? adviceOnFailure
            ?? adviceOnAnswer ?? adviceWhereAllIsWell
    }

    private var setting: String { settings.proxy == nil ? "URL=" : "Proxy=" }
    private var peer: String { settings.proxy == nil ? "the collector" : "the proxy" }

    private var adviceOnName: ProbeAdvice? {
        guard findings.addresses.isEmpty, let host = settings.connectHost else { return nil }
        let failure = findings.lookup?.failure
        if let refusal = findings.ways.first?.refusal {
            return ProbeAdvice(
                refusal.reason,
                "This machine has no way out (\(refusal.detail)), so that no name server can be asked for \(host):"
                    + " connect it, then look at 'ip route'.")
        }
        guard failure?.isSilence == false else {
            let known = findings.nameServers
            let servers = known.isEmpty ? "" : " (\(known.map { "\($0)" }.joined(separator: ", ")))"
            return ProbeAdvice(
                .dns,
                "No name server answers\(servers): look whether they are the right ones in /etc/resolv.conf, and"
                    + " whether the network lets questions to them through.")
        }
        return ProbeAdvice(
            .dns,
            "Nobody knows the name \(host) (\(failure?.text ?? "no address")): look for a slip in \(setting)"
                + " or have the name entered.")
    }

    private var adviceOnWay: ProbeAdvice? {
        guard findings.connections.isEmpty, let first = findings.ways.first, let (reason, detail) = first.refusal else {
            return nil
        }
        let look = "'ip route get \(first.address)'"
        switch reason {
        case .link:
            return ProbeAdvice(
                reason,
                "The link is not up (\(detail)): look at the cable, the modem or the Wi-Fi; 'ip link' shows it.")
        case .address:
            return ProbeAdvice(
                reason, "This machine has no address of its own yet (\(detail)): look at 'ip address' and at DHCP.")
        case .blackhole, .prohibited:
            return ProbeAdvice(
                reason, "A route or a rule of this machine forbids it (\(detail)): \(look) and 'ip rule' show which.")
        default:
            return ProbeAdvice(
                reason,
                "This machine has no way to \(first.address) (\(detail)): connect it or add a route; \(look) tells when"
                    + " there is one.")
        }
    }

    private var adviceOnConnection: ProbeAdvice? {
        let connections = findings.connections
        guard !connections.isEmpty, !connections.contains(where: { $0.hasConnected }) else { return nil }
        let port = settings.connectPort
        let failed = connections.first { $0.error == .connectionRefused } ?? connections[0]
        let place = "\(failed.address) port \(port)"
        switch failed.error {
        case .connectionRefused:
            return ProbeAdvice(
                .refused,
                "\(failed.address) is there, but nothing listens at port \(port): start \(peer), or mend the port in"
                    + " \(setting).")
        case .hostUnreachable, .networkUnreachable:
            return ProbeAdvice(
                .noRoute,
                "No machine answers on the way to \(failed.address): look whether the gateway is there ('ip neigh'),"
                    + " and whether it knows the way on.")
        case .timedOut, nil:
            return ProbeAdvice(
                .timeout,
                "Nothing answers at \(place): a firewall on the way drops it, or the machine is off; ask whoever runs"
                    + " the network or \(peer).")
        case .some(let error):
            return ProbeAdvice(.noRoute, "No connection to \(place) can be made: \(error).")
        }
    }

    private var adviceOnTLS: ProbeAdvice? {
        guard failure?.reason == .tls else { return nil }
        let host = settings.url.host
        guard let server = findings.inspection?.server, let own = server.certificates.first else {
            return ProbeAdvice(
                .tls,
                "What answers at \(host) port \(settings.url.port) does not speak TLS as it should: look whether URL="
                    + " names the right port.")
        }
        switch server.trust {
        case .expired:
            let ended = server.certificates.map(\.ends).min() ?? own.ends
            return ProbeAdvice(
                .tls,
                "The certificate of \(host) has expired (\(ended.day)): have it renewed; if that cannot be, look at"
                    + " this machine's clock ('timedatectl').")
        case .notYetValid:
            return ProbeAdvice(
                .tls,
                "The certificate of \(host) is valid from \(own.begins.day) on: look at this machine's clock"
                    + " ('timedatectl').")
        case .unknownIssuer:
            let issuer = server.certificates.last?.issuer ?? own.issuer
            return ProbeAdvice(
                .tls,
                "This machine does not trust \(issuer), who vouches for \(host): put that certificate into"
                    + " CACertificate= if it is yours; if you do not know it, somebody sits in between.")
        case .good where !server.matches:
            return ProbeAdvice(
                .tls,
                "The certificate shown is for \(own.names.isEmpty ? own.subject : own.names), not for \(host): mend the"
                    + " name in URL=, or have a certificate made for it.")
        case .good, .other:
            return ProbeAdvice(
                .tls, "TLS with \(host) fails (\(failure?.detail ?? "")): ask whoever runs \(peer).")
        }
    }

    private var adviceOnFailure: ProbeAdvice? {
        guard let failure else { return nil }
        switch failure.reason {
        case .proxy:
            return ProbeAdvice(
                .proxy,
                "The proxy does not let it through (\(failure.detail)): ask whoever runs it to allow"
                    + " \(settings.url.host) port \(settings.url.port).")
        case .timeout:
            return ProbeAdvice(
                .timeout,
                "A connection is taken, but no answer comes in time: look at what runs there; it may be overloaded, or"
                    + " speak another protocol.")
        case .refused where settings.url.scheme == .unix:
            return ProbeAdvice(
                .refused, "Nothing listens at \(settings.url.host): start the collector, or mend the path in URL=.")
        default:
            return ProbeAdvice(
                failure.reason,
                "A connection is taken, but the answer breaks off (\(failure.detail)): look at the log of \(peer).")
        }
    }

    private var adviceOnAnswer: ProbeAdvice? {
        guard let answer else { return nil }
        if verdict == .portal {
            let expected = settings.expectHeader.map { " (no \($0.name) field)" } ?? ""
            return ProbeAdvice(
                .portal,
                "Something else answers in the collector's place\(expected): log in at the hotspot's page, or mend"
                    + " ExpectHeader= if this is the collector.")
        }
        let resume = standing.isHeld ? ", then 'uplinkctl resume \(settings.name)'" : ""
        let path = String(settings.url.path.prefix { $0 != "?" })
        switch answer.status {
        case 407:
            let wish = settings.proxy?.user == nil ? "wants a user and a password" : "refuses the user or the password"
            return ProbeAdvice(
                .proxy, "The proxy \(wish): put them into Proxy=http://USER:PASSWORD@HOST:PORT and 'uplinkctl reload'.")
        case 300...399:
            return ProbeAdvice(
                .redirect,
                "The collector sends to \(location ?? "another place"), and a redirect is never followed: put the right"
                    + " address into URL= and 'uplinkctl reload'.")
        case 401, 403:
            return ProbeAdvice(
                .unauthorized,
                "The collector is reached and refuses who asks: renew the token (TokenFile=, Credential=, Header=) or"
                    + " have it allowed\(resume.isEmpty ? ", then 'uplinkctl reload'" : resume).")
        case 404, 410:
            return ProbeAdvice(
                .notFound,
                "The collector is reached and has nothing at \(path): mend the path in URL= and 'uplinkctl reload',"
                    + " unless it is there for POST alone.")
        case 511:
            return ProbeAdvice(
                .portal, "The network wants a login first (511): open a page in a browser on this network.")
        case 429, 500, 502...504, 506...599:
            return ProbeAdvice(
                .throttled,
                "The collector is reached and asks for time (\(answer.status)): nothing is to be done here; events wait"
                    + " and are sent later.")
        default: return nil
        }
    }

    private var adviceWhereAllIsWell: ProbeAdvice {
        let name = settings.name
        guard answer != nil else {
            return ProbeAdvice(.timeout, "There was no time for an answer: try again, or look at 'uplinkctl status'.")
        }
        if standing.isPaused {
            return ProbeAdvice(
                .operator, "All is well on the way, but it is paused: 'uplinkctl resume \(name)' ends that.")
        }
        if standing.isHeld {
            return ProbeAdvice(
                standing.reason,
                "All is well on the way, but an answer holds it (\(standing.reason.rawValue)): 'uplinkctl status' shows"
                    + " which; once that is mended, 'uplinkctl resume \(name)'.")
        }
        if let policy = standing.policy {
            return ProbeAdvice(.policy, "All is well on the way, but NetworkTypes= keeps events back: \(policy).")
        }
        return ProbeAdvice(.none, "All is well: \(name) answers, nothing is to be done.")
    }
}

extension WallTime {
    /// `2026-11-30`.
    fileprivate var day: String { Array(rfc3339.prefix(10)).text }
}
