import Bytes
import ControlClient
import Posix

/// A console that keeps what is written, for one run of the tool.
final class CapturedConsole {
    private(set) var output: [UInt8] = []
    private(set) var complaints: [UInt8] = []
    private var input: [[UInt8]]
    private let environment: [String: String]
    private let isTerminal: Bool
    private let isInteractive: Bool

    /// Standard input gives `input` piece by piece.
    init(
        input: [String] = [], environment: [String: String] = [:], isTerminal: Bool = false,
        isInteractive: Bool = false
    ) {
        self.input = input.map { Array($0.utf8) }
        self.environment = environment
        self.isTerminal = isTerminal
        self.isInteractive = isInteractive
    }

    /// Runs the tool; its exit status as a number.
    func run(_ arguments: String...) -> Int32 { run(arguments) }

    /// Runs the tool; its exit status as a number.
    func run(_ arguments: [String]) -> Int32 {
        let console = Console(
            environment: { [environment] in environment[$0] }, isTerminal: isTerminal,
            showsProgress: isInteractive, isInteractive: isInteractive,
            output: { [self] bytes throws(Errno) in output += bytes },
            error: { [self] bytes in complaints += bytes },
            input: { [self] buffer throws(Errno) in
                guard !input.isEmpty else { return 0 }
                let piece = input.removeFirst()
                buffer += piece
                return piece.count
            })
        return Uplinkctl.run(arguments, version: "1.2.3", on: console).rawValue
    }
}
