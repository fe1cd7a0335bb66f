internal import Posix

extension Configuration {
    /// A file's name and bytes.
    package struct Source: Sendable {
        package let file: String
        package let bytes: [UInt8]

        /// The bytes of `file`.
        package init(file: String, bytes: [UInt8]) {
            self.file = file
            self.bytes = bytes
        }
    }

    /// The most bytes of a file.
    package static let maximumFileBytes = 1 << 20
    /// The most drop-ins.
    package static let maximumDropIns = 100

    /// Reads `path` and `path.d/*.conf` in the order of their names; nil where any problem is an error.
    ///
    /// All problems are returned, in the order of the files. May wait for the disk.
    package static func load(path: String) -> (configuration: Configuration?, problems: [Problem]) {
        var sources: [Source] = []
        var problems: [Problem] = []
        func read(_ file: String) {
            do throws(Errno) {
                sources.append(Source(file: file, bytes: try FileSystem.contents(of: file, limit: maximumFileBytes)))
            } catch {
                let why =
                    switch error {
                    case .fileTooLarge: "more than \(maximumFileBytes) bytes"
                    case .invalid: "not a regular file"
                    default: error.description
                    }
                problems.append(
                    Problem(.error, at: Origin(file: file, line: 1, column: 1), "cannot be read: \(why)"))
            }
        }
        read(path)
        let folder = path + ".d"
        do throws(Errno) {
            let names = try FileSystem.names(in: folder).filter { $0.hasSuffix(".conf") && !$0.hasPrefix(".") }
            for name in names.prefix(maximumDropIns) { read(folder + "/" + name) }
            if names.count > maximumDropIns {
                problems.append(
                    Problem(
                        .error, at: Origin(file: folder, line: 1, column: 1),
                        "more than \(maximumDropIns) drop-in files"))
            }
        } catch {
            if error != .noEntry {
                problems.append(
                    Problem(.error, at: Origin(file: folder, line: 1, column: 1), "cannot be read: \(error)"))
            }
        }
        let (configuration, found) = parse(sources)
        return (problems.isEmpty ? configuration : nil, problems + found)
    }

    /// Reads sources one after the other, the last assignment wins; nil where any problem is an error.
    package static func parse(_ sources: [Source]) -> (configuration: Configuration?, problems: [Problem]) {
        var problems = ProblemList()
        var interpreter = Interpreter()
        for source in sources {
            var reader = LineReader(file: source.file)
            reader.read(source.bytes, problems: &problems)
            interpreter.run(reader.statements, problems: &problems)
        }
        let whole = Origin(file: sources.first?.file ?? "", line: 1, column: 1)
        if !sources.isEmpty {
            Checks(
                configuration: interpreter.configuration, destinationOrigins: interpreter.destinationOrigins,
                wholeOrigin: whole
            ).run(&problems)
        }
        let sorted = problems.sorted(by: sources.map(\.file))
        return (sorted.contains { $0.severity == .error } ? nil : interpreter.configuration, sorted)
    }
}
