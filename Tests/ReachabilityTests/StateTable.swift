/// The whole of the state machine: for each event and each situation the state after it, and what is asked for.
enum StateTable {
    static let withChecks = read(checksOn)
    static let withoutChecks = read(checksOff)

    /// Lines that begin at the margin name an event; each line below it is a situation, `=>`, and what comes of it.
    private static func read(_ text: String) -> [EventKind: [Situation: String]] {
        var table: [EventKind: [Situation: String]] = [:]
        var event: EventKind?
        for line in text.split(separator: "\n") {
            guard line.hasPrefix(" ") else {
                event = EventKind(rawValue: String(line))
                if event == nil { preconditionFailure("no event is named '\(line)'") }
                continue
            }
            let halves = line.split(separator: "=>").map { $0.split(separator: " ").joined(separator: " ") }
            guard let event, halves.count == 2, let situation = Situation(rawValue: halves[0]) else {
                preconditionFailure("not a row: '\(line)'")
            }
            table[event, default: [:]][situation] = halves[1]
        }
        return table
    }

    private static let checksOn = """
        the kernel has a path, as before
            unknown                         => verifying: check
            no-path                         => verifying: check
            verifying                       => verifying
            unreachable                     => unreachable
            unreachable, a check in flight  => unreachable
            portal                          => portal
            reachable                       => reachable
            reachable, the path just lost   => reachable: go on
        the kernel has another path
            unknown                         => verifying: check
            no-path                         => verifying: check
            verifying                       => verifying: drop, give up
            unreachable                     => verifying: drop, give up, check
            unreachable, a check in flight  => verifying: drop, give up
            portal                          => verifying: drop, give up, check
            reachable                       => verifying: drop, give up, check
            reachable, the path just lost   => verifying: drop, give up, check
        the kernel has no path
            unknown                         => no-path
            no-path                         => no-path
            verifying                       => verifying: pause
            unreachable                     => unreachable: pause
            unreachable, a check in flight  => unreachable: pause
            portal                          => portal: pause
            reachable                       => reachable: pause
            reachable, the path just lost   => reachable
        no address is known, and there is a default route
            unknown                         => verifying: look, resolve
            no-path                         => verifying: look, resolve
            verifying                       => verifying
            unreachable                     => unreachable
            unreachable, a check in flight  => unreachable
            portal                          => portal
            reachable                       => reachable
            reachable, the path just lost   => reachable
        no address is known, and there is no default route
            unknown                         => no-path
            no-path                         => no-path
            verifying                       => verifying: pause
            unreachable                     => unreachable: pause
            unreachable, a check in flight  => unreachable: pause
            portal                          => portal: pause
            reachable                       => reachable: pause
            reachable, the path just lost   => reachable
        the name has no address
            unknown                         => unreachable
            no-path                         => no-path
            verifying                       => verifying
            unreachable                     => unreachable
            unreachable, a check in flight  => unreachable
            portal                          => portal
            reachable                       => reachable
            reachable, the path just lost   => reachable
        the destination answers
            unknown                         => reachable: send
            no-path                         => no-path
            verifying                       => reachable: send
            unreachable                     => reachable: send
            unreachable, a check in flight  => reachable: send
            portal                          => reachable: send
            reachable                       => reachable
            reachable, the path just lost   => reachable
        something else answers
            unknown                         => portal
            no-path                         => no-path
            verifying                       => portal
            unreachable                     => portal
            unreachable, a check in flight  => portal
            portal                          => portal
            reachable                       => portal
            reachable, the path just lost   => portal
        no answer comes
            unknown                         => unreachable: look soon
            no-path                         => no-path: look soon
            verifying                       => unreachable: look soon
            unreachable                     => unreachable: look soon
            unreachable, a check in flight  => unreachable: look soon
            portal                          => unreachable: look soon
            reachable                       => verifying: look soon
            reachable, the path just lost   => verifying: look soon
        the check is over
            unknown                         => unknown
            no-path                         => no-path
            verifying                       => verifying
            unreachable                     => unreachable
            unreachable, a check in flight  => unreachable
            portal                          => portal
            reachable                       => reachable
            reachable, the path just lost   => reachable
        the machine slept
            unknown                         => unknown: drop, look, resolve
            no-path                         => no-path: drop, look
            verifying                       => verifying: drop, look, resolve
            unreachable                     => unreachable: drop, look, resolve
            unreachable, a check in flight  => unreachable: drop, look, resolve
            portal                          => portal: drop, look, resolve
            reachable                       => verifying: drop, give up, look, resolve
            reachable, the path just lost   => verifying: drop, give up, look
        an operator wants to know
            unknown                         => unknown: look, resolve
            no-path                         => no-path: look
            verifying                       => verifying: look, resolve
            unreachable                     => unreachable: look, resolve
            unreachable, a check in flight  => unreachable: look, resolve
            portal                          => portal: look, resolve
            reachable                       => reachable
            reachable, the path just lost   => reachable
        the deadline has come
            unknown                         => unknown: look, resolve
            no-path                         => no-path: look
            verifying                       => verifying: look, resolve
            unreachable                     => unreachable: look, resolve
            unreachable, a check in flight  => unreachable: look, resolve
            portal                          => portal: look, resolve
            reachable                       => reachable
            reachable, the path just lost   => no-path: drop, give up
        """

    private static let checksOff = """
        the kernel has a path, as before
            unknown                         => verifying: attempt
            no-path                         => verifying: attempt
            verifying                       => verifying
            unreachable                     => unreachable
            unreachable, a check in flight  => unreachable
            portal                          => portal
            reachable                       => reachable
            reachable, the path just lost   => reachable: go on, attempt
        the kernel has another path
            unknown                         => verifying: attempt
            no-path                         => verifying: attempt
            verifying                       => verifying: drop, give up, attempt
            unreachable                     => verifying: drop, give up, attempt
            unreachable, a check in flight  => verifying: drop, give up, attempt
            portal                          => verifying: drop, give up, attempt
            reachable                       => verifying: drop, give up, attempt
            reachable, the path just lost   => verifying: drop, give up, attempt
        the kernel has no path
            unknown                         => no-path
            no-path                         => no-path
            verifying                       => verifying: pause
            unreachable                     => unreachable: pause
            unreachable, a check in flight  => unreachable: pause
            portal                          => portal: pause
            reachable                       => reachable: pause
            reachable, the path just lost   => reachable
        no address is known, and there is a default route
            unknown                         => verifying: look, resolve
            no-path                         => verifying: look, resolve
            verifying                       => verifying
            unreachable                     => unreachable
            unreachable, a check in flight  => unreachable
            portal                          => portal
            reachable                       => reachable
            reachable, the path just lost   => reachable
        no address is known, and there is no default route
            unknown                         => no-path
            no-path                         => no-path
            verifying                       => verifying: pause
            unreachable                     => unreachable: pause
            unreachable, a check in flight  => unreachable: pause
            portal                          => portal: pause
            reachable                       => reachable: pause
            reachable, the path just lost   => reachable
        the name has no address
            unknown                         => unreachable
            no-path                         => no-path
            verifying                       => verifying
            unreachable                     => unreachable
            unreachable, a check in flight  => unreachable
            portal                          => portal
            reachable                       => reachable
            reachable, the path just lost   => reachable
        the destination answers
            unknown                         => reachable: send
            no-path                         => no-path
            verifying                       => reachable: send
            unreachable                     => reachable: send
            unreachable, a check in flight  => reachable: send
            portal                          => reachable: send
            reachable                       => reachable
            reachable, the path just lost   => reachable
        something else answers
            unknown                         => portal
            no-path                         => no-path
            verifying                       => portal
            unreachable                     => portal
            unreachable, a check in flight  => portal
            portal                          => portal
            reachable                       => portal
            reachable, the path just lost   => portal
        no answer comes
            unknown                         => unreachable: look soon
            no-path                         => no-path: look soon
            verifying                       => unreachable: look soon
            unreachable                     => unreachable: look soon
            unreachable, a check in flight  => unreachable: look soon
            portal                          => unreachable: look soon
            reachable                       => unreachable: look soon
            reachable, the path just lost   => unreachable: look soon
        the check is over
            unknown                         => unknown
            no-path                         => no-path
            verifying                       => verifying
            unreachable                     => unreachable
            unreachable, a check in flight  => unreachable
            portal                          => portal
            reachable                       => reachable
            reachable, the path just lost   => reachable
        the machine slept
            unknown                         => unknown: drop, look, resolve
            no-path                         => no-path: drop, look
            verifying                       => verifying: drop, look, resolve
            unreachable                     => unreachable: drop, look, resolve
            unreachable, a check in flight  => unreachable: drop, look, resolve
            portal                          => portal: drop, look, resolve
            reachable                       => verifying: drop, give up, look, resolve
            reachable, the path just lost   => verifying: drop, give up, look
        an operator wants to know
            unknown                         => unknown: look, resolve
            no-path                         => no-path: look
            verifying                       => verifying: look, resolve
            unreachable                     => unreachable: look, resolve
            unreachable, a check in flight  => unreachable: look, resolve
            portal                          => portal: look, resolve
            reachable                       => reachable
            reachable, the path just lost   => reachable
        the deadline has come
            unknown                         => unknown: look, resolve
            no-path                         => no-path: look
            verifying                       => verifying: look
            unreachable                     => unreachable: look
            unreachable, a check in flight  => unreachable: look
            portal                          => portal: look
            reachable                       => reachable
            reachable, the path just lost   => no-path: drop, give up
        """
}
