internal import Bytes
internal import JSON
internal import Queue
internal import Time

extension Command {
    static let export = Command(
        name: "export", operand: "DIR", candidates: [.directories],
        options: [CommandOption(name: "--all", value: nil, summary: "events that are settled, too")],
        summary: "print the events that are queued, one a line",
        details: """
            Prints the events in DIR that some destination does not have yet; or, with
            --all, every one that can be read. Without DIR it looks into the directory of
            the daemon that runs, or else the configured one.
            Changes nothing; the daemon may be running, stopped, or broken. Where it cannot
            be read how far the destinations have come, it prints all.

            Each line is {"id":…,"log":…,"accepted_at":…,"event":…}; the last one is
            {"summary":…} and says what could not be read; "quarantined" in it are events
            that a destination has given up before because they could not. The exit
            status is 1 if anything that is queued could not.
            """
    ) { invocation, console in
        withQueue(invocation, console) { inspection throws(QueueError) in
            let export = try Export(inspection, everything: invocation.has("--all"))
            var events = 0
            let progress = Progress(console, "events")
            let isShown = !console.isTerminal
            while console.outputFailure == nil, let chunk = try export.next() {
                events += chunk.records.count
                let lines = lines(of: chunk)
                console.write(console.isTerminal ? printableJSON(lines) : lines)
                if isShown { progress.show(Int64(events), of: Int64(events) + Int64(clamping: export.remaining)) }
            }
            progress.clear()
            console.write(json: summary(of: export, events: events, inspection))
            return export.unreadable == 0 && export.damages.isEmpty ? .success : .failed
        }
    }

    /// The events of a chunk, a line of JSON each, their bytes as they are but for line breaks between tokens.
    static func lines(of chunk: Chunk) -> [UInt8] {
        var lines: [UInt8] = []
        lines.reserveCapacity(chunk.bytes.count + 128 * chunk.records.count)
        for record in chunk.records {
            lines.append("{\"id\":\"")
            lines += EventID(epoch: chunk.epoch, sequence: record.sequence).text
            lines.append("\",\"log\":\"")
            lines.append(utf8: chunk.log.text)
            if let acceptedAt = record.acceptedAt {
                lines.append("\",\"accepted_at\":\"")
                lines += acceptedAt.rfc3339
            }
            lines.append("\",\"event\":")
            let start = lines.count
            lines.append(chunk.bytes, record.range)
            for index in start..<lines.count where lines[index] == 0x0A || lines[index] == 0x0D { lines[index] = 0x20 }
            lines.append("}\n")
        }
        return lines
    }

    private static func summary(of export: Export, events: Int, _ inspection: Inspection) -> [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        json.name("summary")
        json.beginObject()
        json.member("directory", inspection.directory)
        json.member("events", events)
        json.member("unreadable", export.unreadable)
        json.name("damage")
        json.beginArray()
        for damage in export.damages {
            json.append(damage)
        }
        json.endArray()
        json.name("quarantined")
        json.beginObject()
        for (destination, count) in inspection.quarantined.sorted(by: { $0.key < $1.key }) {
            json.member(destination, count)
        }
        json.endObject()
        json.append(quarantine: inspection.quarantine())
        json.endObject()
        json.endObject()
        return json.bytes
    }
}

extension JSONWriter {
    /// Writes what `verify` and `export` say of the copies that were set aside.
    mutating func append(quarantine: (files: Int, bytes: Int)) {
        name("quarantine")
        beginObject()
        member("files", quarantine.files)
        member("bytes", quarantine.bytes)
        endObject()
    }

    /// Writes what `verify` and `export` say of a damaged stretch.
    mutating func append(_ damage: Verification.Damage) {
        beginObject()
        member("kind", damage.kind.rawValue)
        member("file", damage.path)
        member("offset", damage.offset)
        member("length", damage.length)
        if let sequences = damage.sequences {
            member("first", sequences.lowerBound)
            member("last", sequences.upperBound)
        }
        endObject()
    }
}
