import Configuration

/// A configuration file and a drop-in, of any bytes.
enum FuzzedConfiguration {
    static func run(_ first: UInt8, _ input: [UInt8]) {
        let cut = min(input.count, Int(first) * 4)
        let sources = [
            Configuration.Source(file: "uplinkd.conf", bytes: Array(input[..<cut])),
            Configuration.Source(file: "drop-in.conf", bytes: Array(input[cut...])),
        ]
        let (configuration, problems) = Configuration.parse(sources)
        precondition((configuration == nil) == problems.contains { $0.severity == .error })
        for problem in problems {
            guard let source = sources.first(where: { $0.file == problem.origin.file }) else {
                preconditionFailure("a problem in \(problem.origin.file)")
            }
            let lines = source.bytes.count { $0 == 0x0A } + 1
            precondition((1...lines).contains(problem.origin.line), "\(problem) in a file of \(lines) lines")
            precondition(problem.origin.column >= 1)
            precondition(problem.description.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F })
        }
    }
}
