internal import Bytes

/// What a command line asks for.
enum Request {
    case run(Command, Invocation)
    /// Help on a command, or on all of them.
    case help(Command?)
    /// Help on the commands that have their first word in common.
    case helpOnGroup(String)
    case version
}

/// Why a command line is not understood, as a sentence.
struct UsageError: Error, Equatable {
    let message: String
}

extension Request {
    /// Reads arguments without the program's name; options may stand before or after the command, `--` ends them.
    init(_ arguments: [String], table: [Command]) throws(UsageError) {
        var words = ArgumentWords(arguments)
        var options: [String: String] = [:]
        var command: Command?
        var operands: [String] = []
        var group: String?
        while let word = words.next() {
            guard case .option(let name) = word else {
                if let known = command {
                    guard known.operand != nil, operands.count < known.mostOperands else {
                        throw UsageError(message: "\(known.name): one argument too many: '\(word.text)'")
                    }
                    operands.append(word.text)
                } else if word.text == "help" {
                    options["--help"] = ""
                } else if group == nil, table.contains(where: { $0.name.hasPrefix(word.text + " ") }) {
                    group = word.text
                } else {
                    command = try Self.command((group.map { $0 + " " } ?? "") + word.text, in: table)
                }
                continue
            }
            let known = CommandOption.common + (command?.options ?? table.flatMap(\.options))
            guard let option = known.first(where: { $0.name == name }) else {
                throw UsageError(message: "unknown option '\(name)'" + Self.hint(name, known.map(\.name)))
            }
            options[name] = try words.value(for: option)
        }
        if options["--version"] != nil {
            self = .version
        } else if options["--help"] != nil {
            self = command == nil ? group.map { .helpOnGroup($0) } ?? .help(nil) : .help(command)
        } else if let command {
            if let other = options.keys.sorted().first(where: { !command.takes($0) }) {
                throw UsageError(message: "\(command.name) takes no option '\(other)'")
            }
            guard operands.count >= command.leastOperands else {
                throw UsageError(message: "\(command.name) needs \(command.operand ?? "")")
            }
            self = .run(command, Invocation(options: options, operands: operands))
        } else if let group {
            let known = table.filter { $0.name.hasPrefix(group + " ") }.map(\.name).joined(separator: ", ")
            throw UsageError(message: "\(group) needs a word more: \(known)")
        } else {
            throw UsageError(message: "no command given; 'uplinkctl --help' lists them")
        }
    }

    private static func command(_ word: String, in table: [Command]) throws(UsageError) -> Command {
        if let command = table.first(where: { $0.name == word }) { return command }
        throw UsageError(message: "unknown command '\(word)'" + hint(word, table.flatMap(\.names)))
    }

    /// For a slip of the fingers, or a beginning that only one has.
    private static func hint(_ word: String, _ known: [String]) -> String {
        let longer = Set(known.filter { word.count > 1 && $0.hasPrefix(word) }).sorted { $0.count < $1.count }
        let isOne = longer.first.map { shortest in longer.allSatisfy { $0.hasPrefix(shortest) } } ?? false
        let meant = isOne ? longer[0] : nearest(to: word, among: known)
        return meant.map { "; did you mean '\($0)'?" } ?? ""
    }
}

extension Command {
    /// Its name and, of one of two words, the first.
    fileprivate var names: [String] { name.firstIndex(of: " ").map { [String(name[..<$0]), name] } ?? [name] }

    fileprivate func takes(_ option: String) -> Bool {
        (CommandOption.common + options).contains { $0.name == option }
    }
}
