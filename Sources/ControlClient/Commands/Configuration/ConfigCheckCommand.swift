internal import Configuration
internal import JSON

extension Command {
    static let configCheck = Command(
        name: "config check", operand: "FILE", candidates: [.files], options: [],
        socket: nil,
        summary: "name all that is wrong in the configuration",
        details: """
            Reads FILE, or else the configuration that a daemon would read, with its
            drop-ins, and prints every problem as file:line:column, errors and warnings.
            Files of tokens and certificates are read as the calling user; 'uplinkd
            --check' looks into them as well. Needs no daemon and changes nothing. The exit
            status is 1 if there is an error, with which a daemon would not start and a
            reload be refused.
            """
    ) { invocation, console in
        let file = invocation.configurationFile(console)
        let (configuration, found) = Configuration.load(path: file)
        let problems = found + (configuration?.unreadableFiles ?? [])
        let errors = problems.count { $0.severity == .error }
        if invocation.has("--json") {
            console.write(json: report(file, problems, errors: errors))
        } else {
            for problem in problems { console.write(line: problem.description.printable) }
            let counts = [(errors, "error"), (problems.count - errors, "warning")].filter { $0.0 > 0 }
            let words = counts.map { "\($0.0) \($0.1)\($0.0 == 1 ? "" : "s")" }.joined(separator: ", ")
            console.write(line: "\(file): \(words.isEmpty ? "good" : words)".printable)
        }
        return errors == 0 ? .success : .failed
    }

    private static func report(_ file: String, _ problems: [Problem], errors: Int) -> [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        json.member("file", file)
        json.member("errors", errors)
        json.member("warnings", problems.count - errors)
        json.name("problems")
        json.beginArray()
        for problem in problems {
            json.beginObject()
            json.member("severity", problem.severity.rawValue)
            json.append(problem.origin)
            json.member("message", problem.message)
            json.endObject()
        }
        json.endArray()
        json.endObject()
        return json.bytes
    }
}

extension JSONWriter {
    /// Writes a place in a configuration file.
    mutating func append(_ origin: Origin) {
        member("file", origin.file)
        member("line", origin.line)
        member("column", origin.column)
    }
}
