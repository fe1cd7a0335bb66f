internal import Bytes
package import Posix

/// What a command sees of its process: output, complaints, input, environment.
package final class Console {
    /// The environment's variables.
    package let environment: (String) -> String?
    /// Standard output is a terminal.
    package let isTerminal: Bool
    /// Standard error is one, where progress can be shown.
    package let showsProgress: Bool
    /// Standard input is one as well, where a person can be asked.
    package let isInteractive: Bool
    /// Why standard output took no more; nothing is written to it after that.
    package private(set) var outputFailure: Errno?

    private let output: ([UInt8]) throws(Errno) -> Void
    private let error: ([UInt8]) -> Void
    private let input: (inout [UInt8]) throws(Errno) -> Int

    /// A console of these parts; `input` appends some bytes and returns how many, 0 at the end.
    package init(
        environment: @escaping (String) -> String?, isTerminal: Bool, showsProgress: Bool, isInteractive: Bool,
        output: @escaping ([UInt8]) throws(Errno) -> Void, error: @escaping ([UInt8]) -> Void,
        input: @escaping (inout [UInt8]) throws(Errno) -> Int
    ) {
        self.environment = environment
        self.isTerminal = isTerminal
        self.showsProgress = showsProgress
        self.isInteractive = isInteractive
        self.output = output
        self.error = error
        self.input = input
    }

    /// The console of this process.
    package static func ofProcess() -> Console {
        let input = FileDescriptor(taking: 0)
        let showsProgress = Process.isTerminal(StandardStream.error.rawValue)
        return Console(
            environment: { Process.environment($0) },
            isTerminal: Process.isTerminal(StandardStream.output.rawValue),
            showsProgress: showsProgress, isInteractive: showsProgress && Process.isTerminal(input.number),
            output: { bytes throws(Errno) in try StandardStream.output.write(bytes) },
            error: { bytes in try? StandardStream.error.write(bytes) },
            input: { buffer throws(Errno) in try input.read(upTo: 65_536, into: &buffer) })
    }

    /// Colour may be used.
    var usesColour: Bool { isTerminal && (environment("NO_COLOR") ?? "").isEmpty }

    /// Writes to standard output.
    func write(_ bytes: [UInt8]) {
        guard outputFailure == nil else { return }
        do throws(Errno) {
            try output(bytes)
        } catch {
            outputFailure = error
        }
    }

    /// Writes a line to standard output.
    func write(line: String) { write(Array((line + "\n").utf8)) }

    /// Writes a line about the command itself to standard error, its control characters escaped.
    func complain(_ line: String) { error(Array("uplinkctl: \(line.printable)\n".utf8)) }

    /// Writes lines to standard error as they are.
    func explain(_ text: String) { error(Array(text.utf8)) }

    /// Appends some of standard input; the number of bytes, 0 at the end.
    func read(into buffer: inout [UInt8]) throws(Errno) -> Int { try input(&buffer) }
}
