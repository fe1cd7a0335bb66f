internal import Bytes

extension Command {
    static let flush = Command(
        name: "flush", operand: "DEST", options: [],
        summary: "try a destination, or all of them, at once",
        details: """
            Ends the wait before the next try of DEST, or of every destination. Returns at
            once; 'uplinkctl status' shows what came of it.
            """
    ) { invocation, console in
        do throws(ClientError) {
            var daemon = try DaemonConnection(DaemonSocket.control.path(invocation, console))
            let known = try daemon.exchange(method: "GET", target: "/v1/status", within: plainTimeLimit)
            guard known.status == 200, let status = StatusDocument(known.body) else {
                return console.complain(known, of: .control)
            }
            let names = status.destinations.filter { $0.isConfigured }.map(\.name)
            if let wanted = invocation.operand, !names.contains(wanted) {
                let hint = nearest(to: wanted, among: names).map { "; did you mean '\($0)'?" } ?? ""
                console.complain("no destination is named '\(wanted)'\(hint)")
                return .failed
            }
            for name in invocation.operand.map({ [$0] }) ?? names {
                let answer = try daemon.exchange(
                    method: "POST", target: "/v1/destinations/\(name)/flush", within: plainTimeLimit)
                guard answer.status < 300 else { return console.complain(answer, of: .control) }
                if invocation.has("--json") {
                    console.write(json: answer.body)
                } else {
                    console.write(line: "\(name) is tried now")
                }
            }
            return .success
        } catch {
            return console.complain(error)
        }
    }
}

extension StatusDocument.Destination {
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
