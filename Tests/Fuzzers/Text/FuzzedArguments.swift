import Bytes

@testable import ControlClient
@testable import Daemon

/// The command lines of both programs; a line feed ends an argument.
enum FuzzedArguments {
    static func run(_ input: [UInt8]) {
        let arguments = input.split(separator: 0x0A, omittingEmptySubsequences: false).map { Array($0).text }
        do throws(UsageError) {
            switch try Request(arguments, table: Command.all) {
            case .run(let command, let invocation):
                precondition((command.leastOperands...command.mostOperands).contains(invocation.operands.count))
                precondition(invocation.operands.allSatisfy(arguments.contains))
            case .help(let command): precondition(command.map { !Help.text(of: $0).isEmpty } ?? true)
            case .helpOnGroup(let group): precondition(Help.text(ofGroup: group, table: Command.all).contains(group))
            case .version: break
            }
        } catch {
            precondition(!error.message.isEmpty)
        }
        let command = DaemonCommand(arguments, environment: nil)
        if case .misused(let message) = command.action { precondition(!message.isEmpty) }
    }
}
