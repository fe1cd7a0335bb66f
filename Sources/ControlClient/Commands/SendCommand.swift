internal import Bytes
internal import JSON
internal import Posix
internal import Queue

extension Command {
    private static let lanes = LogName.lanes.map(\.text)

    static let send = Command(
        name: "send", operand: "FILE|-", candidates: [.files],
        options: [
            CommandOption(
                name: "--lane", value: "LANE", summary: "urgent, normal (as without it), or bulk",
                candidates: .words(lanes)),
            CommandOption(name: "--ttl", value: "TIME", summary: "give events up after so long, as 30s, 5min or 7d"),
            CommandOption(
                name: "--consent", value: "CATEGORY", summary: "as events of that consent category, without a lane",
                candidates: .consentCategories),
        ],
        socket: .events,
        summary: "post events, from standard input or a file",
        details: """
            Posts JSON objects, one a line, as they come; or one JSON document, an object
            or an array of objects, on any number of lines. When it returns 0 every event
            is on disk. After an error it says what was taken before.

              uplinkctl send events.ndjson
              echo '{"event":"boot"}' | uplinkctl send --lane urgent
            """
    ) { invocation, console in
        if let lane = invocation.options["--lane"], !lanes.contains(lane) {
            console.complain("no lane is named '\(lane)'" + hint(lane, among: lanes))
            return .usage
        }
        let (timeToLive, category) = (invocation.options["--ttl"], invocation.options["--consent"])
        if let refusal = console.refuse(span: timeToLive, of: "--ttl", upTo: .seconds(Int64(UInt32.max)))
            ?? console.refuse(category: category)
        {
            return refusal
        }
        guard category == nil || !invocation.has("--lane") else {
            console.complain("send takes either --lane or --consent: a category has a lane of its own")
            return .usage
        }
        var sender = Sender(
            DaemonSocket.events.path(invocation, console),
            parameters: ["lane", "ttl", "consent"].compactMap { name in
                invocation.options["--" + name].map { (name, $0) }
            })
        guard let name = invocation.operand, name != "-" else {
            return send("standard input", with: &sender, invocation, console) { buffer throws(Errno) in
                try console.read(into: &buffer)
            }
        }
        do throws(Errno) {
            let file = try FileDescriptor.open(name, .readOnly)
            return send(name, with: &sender, invocation, console) { buffer throws(Errno) in
                try file.read(upTo: 65_536, into: &buffer)
            }
        } catch {
            console.complain("\(name): \(error)")
            return .failed
        }
    }

    /// Reads to the end and posts what comes.
    private static func send(
        _ name: String, with sender: inout Sender, _ invocation: Invocation, _ console: Console,
        _ read: (inout [UInt8]) throws(Errno) -> Int
    ) -> ExitStatus {
        var input = EventInput()
        var hasEnded = false
        while !hasEnded {
            var bytes: [UInt8] = []
            do throws(Errno) {
                hasEnded = try read(&bytes) == 0
            } catch {
                console.complain("\(name): \(error)")
                return .failed
            }
            input.add(bytes)
            if hasEnded { input.end() }
            if let failure = post(&input, from: name, with: &sender, invocation, console) {
                if sender.accepted > 0 { console.complain("before that: \(sender.summary)") }
                return failure
            }
        }
        let isEmpty = !sender.hasPosted
        // Where there is nothing to send, a daemon that is not there is told of all the same.
        if isEmpty, let failure = post(.nothing, from: name, with: &sender, invocation, console) { return failure }
        if !invocation.has("--json") { console.write(line: isEmpty ? "there was nothing to send" : sender.summary) }
        return .success
    }

    /// Posts what can be posted of the input; nil unless something is wrong.
    private static func post(
        _ input: inout EventInput, from name: String, with sender: inout Sender, _ invocation: Invocation,
        _ console: Console
    ) -> ExitStatus? {
        do throws(EventInputError) {
            while let piece = try input.next() {
                if let failure = post(piece, from: name, with: &sender, invocation, console) { return failure }
            }
            return nil
        } catch {
            console.complain("a document or line of more than \(Amount.bytes(Int64(EventInput.limit)))")
            return .badEvent
        }
    }

    private static func post(
        _ piece: EventPiece, from name: String, with sender: inout Sender, _ invocation: Invocation, _ console: Console
    ) -> ExitStatus? {
        do throws(ClientError) {
            let answer = try sender.post(piece)
            if invocation.has("--json") { console.write(json: answer.body) }
            return answer.status == 202 ? nil : refusal(answer, of: piece, from: name, invocation, console)
        } catch {
            return console.complain(error, of: .events)
        }
    }

    /// Says which event was refused, why, and what was not taken with it.
    private static func refusal(
        _ answer: Answer, of piece: EventPiece, from name: String, _ invocation: Invocation, _ console: Console
    ) -> ExitStatus {
        let problem = try? JSONValue(parsing: answer.body)
        var place = name
        if let first = piece.firstLine {
            let line = problem?["line"]?.integer ?? 1
            place += ":\(Int64(first) + max(1, min(line, Int64(EventInput.limit))) - 1)"
        } else if let index = problem?["index"]?.integer {
            place += ": event \(index), counted from 0"
        }
        let isFull = problem?["type"]?.string == "urn:uplinkd:problem:queue-full"
        let lane = isFull ? " (lane \(invocation.options["--lane"] ?? "normal"))" : ""
        let loss = piece.firstLine.map { "nothing from line \($0) on was taken" } ?? "nothing of it was taken"
        console.complain("\(place): \(answer.reason(of: .events))\(lane); \(loss)")
        return [400, 413, 415, 422].contains(answer.status) ? .badEvent : answer.exitStatus
    }
}
