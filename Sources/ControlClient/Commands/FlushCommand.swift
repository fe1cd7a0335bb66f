internal import Bytes

extension Command {
    static let flush = Command(
        name: "flush", operand: "DEST", options: [],
        summary: "try a destination, or all of them, at once",
        details: """
            Ends the wait before the next try of DEST, or of every destination, and says
            where there is none to be made. Returns at once; 'uplinkctl status' shows what
            came of it.
            """
    ) { invocation, console in
        do throws(ClientError) {
            var daemon = try DaemonConnection(DaemonSocket.control.path(invocation, console))
            let known = try daemon.exchange(method: "GET", target: "/v1/status", within: plainTimeLimit)
            guard known.status == 200, let status = StatusDocument(known.body) else {
                return console.complain(known, of: .control)
            }
            let destinations = status.destinations.filter { $0.isConfigured }
            let names = destinations.map(\.name)
            if let wanted = invocation.operand, !names.contains(wanted) {
                let hint = nearest(to: wanted, among: names).map { "; did you mean '\($0)'?" } ?? ""
                console.complain("no destination is named '\(wanted)'\(hint)")
                return .failed
            }
            for one in destinations where one.name == invocation.operand ?? one.name {
                let answer = try daemon.exchange(
                    method: "POST", target: "/v1/destinations/\(one.name)/flush", within: plainTimeLimit)
                guard answer.status < 300 else { return console.complain(answer, of: .control) }
                if invocation.has("--json") {
                    console.write(json: answer.body)
                } else {
                    console.write(line: "\(one.name) \(one.whatFlushDoes)")
                }
            }
            return .success
        } catch {
            return console.complain(error)
        }
    }
}

extension StatusDocument.Destination {
    fileprivate var whatFlushDoes: String {
        if state == "no-path" {
            return "cannot be tried, there is no path to it (\(reason)); it is as soon as there is one"
        }
        if flags.contains("paused") { return "is not tried, it is paused" }
        if state == "reachable", ledger["queued"] == 0 { return "has nothing to be sent" }
        return "is tried now"
    }

    /// It can be tried: its name is one that a configuration allows, and it still stands there.
    fileprivate var isConfigured: Bool {
        let isName = name.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"): true
            default: false
            }
        }
        return isName && !name.isEmpty && !flags.contains("removed")
    }
}
