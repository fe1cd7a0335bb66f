/// A place in a configuration file.
package struct Origin: Sendable, Hashable, CustomStringConvertible {
    package let file: String
    /// From 1.
    package let line: Int
    /// From 1, counted in characters (Unicode scalars).
    package let column: Int

    /// The place at that line and column of `file`.
    package init(file: String, line: Int, column: Int) {
        self.file = file
        self.line = line
        self.column = column
    }

    /// `file:line:column`.
    package var description: String { "\(file):\(line):\(column)" }
}

/// Something in the configuration that is wrong, or looks so.
package struct Problem: Sendable, Equatable, CustomStringConvertible {
    /// A warning lets the daemon start; an error does not.
    package enum Severity: String, Sendable { case warning, error }

    package let origin: Origin
    package let severity: Severity
    /// A sentence that says what is wrong and, where it can, what to write; one line, no control characters.
    package let message: String

    /// A problem at a place.
    package init(_ severity: Severity, at origin: Origin, _ message: String) {
        self.severity = severity
        self.origin = origin
        self.message = message
    }

    /// `file:line:column: severity: message`.
    package var description: String { "\(origin): \(severity.rawValue): \(message)" }
}

/// The problems found so far, at most `limit` of them.
struct ProblemList {
    static let limit = 200
    private(set) var found: [Problem] = []
    private var left = 0

    mutating func add(_ severity: Problem.Severity, at origin: Origin, _ message: String) {
        guard found.count < Self.limit else {
            if severity == .error { left += 1 }
            return
        }
        found.append(Problem(severity, at: origin, printable(message)))
    }

    /// All of them in the order of `files`, and within a file from its beginning.
    func sorted(by files: [String]) -> [Problem] {
        let rank = Dictionary(files.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
        var problems = found.enumerated().sorted { left, right in
            let (a, b) = (left.element.origin, right.element.origin)
            return (rank[a.file] ?? files.count, a.line, a.column, left.offset)
                < (rank[b.file] ?? files.count, b.line, b.column, right.offset)
        }.map(\.element)
        if left > 0, let last = problems.last {
            problems.append(Problem(.error, at: last.origin, "\(left) more errors are not shown"))
        }
        return problems
    }
}

/// `text` with its control characters written as `\xNN`.
func printable(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
        if scalar.properties.generalCategory == .control {
            let digits = String(scalar.value, radix: 16)
            result += "\\x" + (digits.count < 2 ? "0" : "") + digits
        } else {
            result.unicodeScalars.append(scalar)
        }
    }
    return result
}
