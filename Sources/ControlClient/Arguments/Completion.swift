/// What fits where the cursor is, for the shells: `uplinkctl --complete WORD...`, of which the last is to be completed.
///
/// The answer's first line is `words`, `files` or `directories`. Of words each stands on a line, behind a tab what it
/// is for; for the others the shell offers what it finds on the disk.
struct Completion {
    /// So long the daemon is waited for: who types waits as well.
    static let timeLimit = Duration.milliseconds(300)

    private let table: [Command]
    private let current: String
    private var operands: [String] = []
    private var options: [String: String] = [:]
    /// The option whose value is to be completed.
    private var awaiting: CommandOption?
    private var takesOptions = true

    /// Reads the words behind the program's name; none counts as an empty one.
    init(_ typed: [String], table: [Command]) {
        self.table = table
        current = typed.last ?? ""
        var words = ArgumentWords(typed.dropLast())
        let known = CommandOption.common + table.flatMap(\.options)
        while let word = words.next() {
            switch word {
            case .operand("help") where operands.isEmpty: break
            case .operand(let text): operands.append(text)
            case .option(let name):
                guard let option = known.first(where: { $0.name == name }) else { continue }
                awaiting = words.isAtEnd && option.value != nil ? option : nil
                options[name] = (try? words.value(for: option)) ?? ""
            }
        }
        takesOptions = !words.optionsEnded
        if takesOptions, awaiting == nil, let equals = current.firstIndex(of: "=") {
            awaiting = known.first { $0.name == current[..<equals] && $0.value != nil }
        }
    }

    /// The lines to print.
    func lines(_ console: Console) -> [String] {
        if let awaiting { return offer(awaiting.candidates, console) }
        if takesOptions, current.hasPrefix("-"), current != "-" {
            let left = (command?.allOptions ?? CommandOption.common).filter { options[$0.name] == nil }
            return words(left.map { ($0.name, $0.summary) })
        }
        guard let command else { return words(nextWords) }
        let place = operands.count - command.name.split(separator: " ").count
        guard place < command.mostOperands, let last = command.candidates.indices.last else { return words([]) }
        return offer(command.candidates[min(place, last)], console)
    }

    /// The one that the words begin with.
    private var command: Command? {
        [1, 2].filter { $0 <= operands.count }.lazy.compactMap { count in
            let name = operands[..<count].joined(separator: " ")
            return table.first { $0.name == name }
        }.first
    }

    /// The first words of commands, or the second ones.
    private var nextWords: [(String, String)] {
        let typed = operands.map { $0 + " " }.joined()
        var found: [(String, String)] = []
        for command in table where command.name.hasPrefix(typed) {
            let rest = command.name.dropFirst(typed.count)
            let word = String(rest.prefix { $0 != " " })
            guard rest.count > word.count else {
                found.append((word, command.summary))
                continue
            }
            let second = String(rest.dropFirst(word.count + 1))
            if let index = found.firstIndex(where: { $0.0 == word }) {
                found[index].1 += ", " + second
            } else {
                found.append((word, second))
            }
        }
        return found
    }

    private func offer(_ candidates: Candidates, _ console: Console) -> [String] {
        switch candidates {
        case .none: return words([])
        case .words(let names): return words(names.map { ($0, "") })
        case .files: return ["files"]
        case .directories: return ["directories"]
        case .asked(let ask):
            let path = DaemonSocket.control.path(Invocation(options: options, operands: []), console)
            guard var daemon = try? DaemonConnection(path), let names = try? ask(&daemon) else { return words([]) }
            return words(names.filter { !operands.contains($0) }.map { ($0, "") })
        }
    }

    /// Those that go on from what is typed.
    private func words(_ all: [(String, String)]) -> [String] {
        let typed = awaiting != nil && current.hasPrefix("--") ? current.drop { $0 != "=" }.dropFirst() : current[...]
        return ["words"] + all.filter { $0.0.hasPrefix(typed) }.map { $0.0.printable + "\t" + $0.1 }
    }
}
