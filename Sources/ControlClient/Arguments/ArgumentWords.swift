/// Arguments one by one, `--name=value` taken apart.
struct ArgumentWords {
    enum Word {
        case option(String)
        case operand(String)

        var text: String {
            switch self {
            case .option(let text), .operand(let text): text
            }
        }
    }

    private var rest: ArraySlice<String>
    private var attached: String?
    /// A `--` has come: what follows are operands.
    private(set) var optionsEnded = false

    /// Nothing follows the option that came last, not even a value of its own.
    var isAtEnd: Bool { rest.isEmpty && attached == nil }

    init(_ arguments: [String]) { rest = arguments[...] }

    mutating func next() -> Word? {
        attached = nil
        guard let word = rest.popFirst() else { return nil }
        if optionsEnded || word == "-" || !word.hasPrefix("-") { return .operand(word) }
        if word == "--" {
            optionsEnded = true
            return next()
        }
        if word == "-h" { return .option("--help") }
        guard let equals = word.firstIndex(of: "=") else { return .option(word) }
        attached = String(word[word.index(after: equals)...])
        return .option(String(word[..<equals]))
    }

    /// The value of the option that came last; "" where it takes none.
    mutating func value(for option: CommandOption) throws(UsageError) -> String {
        defer { attached = nil }
        guard let value = option.value else {
            guard attached == nil else { throw UsageError(message: "option '\(option.name)' takes no value") }
            return ""
        }
        guard let given = attached ?? rest.popFirst(), !given.isEmpty else {
            throw UsageError(message: "option '\(option.name)' needs a value: \(value)")
        }
        return given
    }
}
