/// What a reason of the daemon means, and what to do, for somebody who has never seen it.
enum ReasonWords {
    /// What is the matter; nil for what explains itself.
    static func meaning(of reason: String) -> String? {
        switch reason {
        case "start": "uplinkd has just started"
        case "no-route": "this machine has no route to it"
        case "link": "this machine's link is down"
        case "blackhole": "a route of this machine throws away what is for it"
        case "prohibited": "this machine's routing rules forbid the way to it"
        case "address": "this machine has no address, or no socket, to reach it from"
        case "dns": "its name cannot be looked up"
        case "refused": "nothing listens at its address"
        case "timeout": "no answer came in time"
        case "reset": "the connection broke off"
        case "tls": "no TLS connection that can be trusted comes about"
        case "proxy": "the proxy does not let it through"
        case "portal": "something else answers, such as a hotspot's login page"
        case "unauthorized": "it does not accept the token, or whoever sends"
        case "not-found": "it says that there is nothing at this URL"
        case "redirect": "it says to go elsewhere, and redirects are never followed"
        case "refusing": "it refuses one event after the other"
        case "rejected": "it gave an answer that needs a person"
        case "throttled": "it asks for time"
        case "operator": "an operator paused it"
        case "storage": "this machine's disk does not keep what must be kept first"
        case "policy": "NetworkTypes= does not let all of it leave by this network"
        case "consent": "what waits has no consent to leave"
        case "shutdown": "uplinkd is stopping"
        default: nil
        }
    }

    /// What a person does about a destination that is held; a configuration that was changed needs a reload.
    static func cure(of reason: String, _ name: String, token: String?) -> String {
        switch (reason, token) {
        case ("unauthorized", "missing"): "mend the file of its token, then: uplinkctl reload"
        case ("unauthorized", "none"):
            "have this machine let in, or give it a token by TokenFile= or a key by Header=, then: uplinkctl reload"
        case ("unauthorized", _): "put a token that it accepts into TokenFile=, then: uplinkctl resume \(name)"
        case ("not-found", _): "correct URL=, then: uplinkctl reload"
        case ("redirect", _): "put the address that it names into URL=, then: uplinkctl reload"
        case ("proxy", _): "put a user and a password that it accepts into Proxy=, then: uplinkctl reload"
        case ("refusing", _): "see why: uplinkctl dead ls --destination \(name); then: uplinkctl resume \(name)"
        default: "find out why, with whoever runs it; then: uplinkctl resume \(name)"
        }
    }
}
