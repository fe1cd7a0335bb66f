internal import Configuration
internal import JSON

extension Command {
    static let configShow = Command(
        name: "config show", operand: "FILE", candidates: [.files], options: [],
        socket: nil,
        summary: "show every setting and where it comes from",
        details: """
            Shows each setting as FILE, or else the configuration that a daemon would read,
            makes it with its drop-ins: the value, and the file and line, or that it is the
            default. What may be secret is left out: queries of URLs, the user and password
            of a proxy, and the values of headers. A running daemon has what was there when
            it last reloaded.
            """
    ) { invocation, console in
        let file = invocation.configurationFile(console)
        let (found, problems) = Configuration.load(path: file)
        guard let configuration = found else {
            for problem in problems { console.complain(problem.description) }
            return .failed
        }
        if invocation.has("--json") {
            console.write(json: report(file, configuration.settings))
        } else {
            for line in lines(configuration.settings) { console.write(line: line.printable) }
        }
        return .success
    }

    /// A section's settings under its name, a line for each value.
    private static func lines(_ settings: [ListedSetting]) -> [String] {
        var lines: [String] = []
        var section = ""
        for setting in settings {
            if setting.name.header != section {
                lines += (section.isEmpty ? [] : [""]) + [setting.name.header]
                section = setting.name.header
            }
            for (index, value) in (setting.values.isEmpty ? [""] : setting.values).enumerated() {
                let place = setting.origins.isEmpty ? nil : setting.origins[index]
                let origin = place.map { "\($0.file):\($0.line)" } ?? "default"
                let text = "\(setting.name.key)=\(value)"
                lines.append(text + String(repeating: " ", count: max(1, 40 - text.count)) + " " + origin)
            }
        }
        return lines
    }

    private static func report(_ file: String, _ settings: [ListedSetting]) -> [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        json.member("file", file)
        json.name("settings")
        json.beginArray()
        for setting in settings {
            json.beginObject()
            json.member("section", setting.name.section)
            json.member("name", setting.name.instance)
            json.member("key", setting.name.key)
            json.name("values")
            json.beginArray()
            for value in setting.values { json.string(value) }
            json.endArray()
            json.name("origin")
            if let origin = setting.origin { append(origin, to: &json) } else { json.null() }
            json.name("origins")
            json.beginArray()
            for origin in setting.origins { append(origin, to: &json) }
            json.endArray()
            json.endObject()
        }
        json.endArray()
        json.endObject()
        return json.bytes
    }

    private static func append(_ origin: Origin, to json: inout JSONWriter) {
        json.beginObject()
        json.append(origin)
        json.endObject()
    }
}

extension SettingName {
    /// `[Destination "main"]`.
    fileprivate var header: String { instance.map { "[\(section) \"\($0)\"]" } ?? "[\(section)]" }
}
