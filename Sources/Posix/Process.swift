internal import CLinux
internal import Glibc

/// Calls about this process and its machine.
package enum Process {
    /// Its process id.
    package static var identifier: Int32 { getpid() }
    /// Its effective user.
    package static var user: UInt32 { geteuid() }

    /// Turns SIGPIPE and SIGXFSZ into EPIPE and EFBIG, for the whole process.
    package static func ignoreFatalWriteSignals() {
        _ = cl_ignore_sigpipe()
        _ = cl_ignore_sigxfsz()
    }

    /// Has a fatal signal that was sent, such as the watchdog's SIGABRT, end the process after its trace.
    ///
    /// The runtime's handler returns after the trace, as a fault then comes again by itself; what was sent does not.
    package static func endAfterTrace() { cl_end_after_trace() }

    /// Files made from now on lack these permission bits.
    package static func setFileMask(_ bits: UInt32) { _ = umask(bits) }

    /// At most so many malloc arenas (mallopt(3), M_ARENA_MAX).
    package static func limitArenas(_ count: Int32) { cl_limit_arenas(count) }

    /// Has the process have at least so many descriptors, as far as it may; how many it may have then (getrlimit(2)).
    package static func raiseDescriptorLimit(to wanted: Int) -> Int {
        let limit = cl_raise_descriptor_limit(Int64(wanted))
        return limit < 0 ? wanted : Int(limit)
    }

    /// Gives unused heap back to the kernel.
    package static func trimHeap() { cl_trim_heap() }

    /// Memory in use, in bytes.
    package static var residentBytes: Int64 { max(0, cl_resident_bytes()) }

    /// Ends at once, without exit handlers.
    package static func exit(_ status: Int32) -> Never {
        cl_exit(status)
        fatalError("_exit returned")
    }

    /// Sends a signal to a process; ESRCH where there is none.
    package static func send(_ signal: Signal, to process: Int32) throws(Errno) {
        try checked(cl_kill(process, signal.rawValue))
    }

    /// The value of an environment variable.
    package static func environment(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

    /// Takes a variable out of the environment.
    package static func removeEnvironment(_ name: String) { unsetenv(name) }

    /// The host's name.
    package static var hostName: String {
        var name = [CChar](repeating: 0, count: 256)
        guard gethostname(&name, name.count - 1) == 0 else { return "localhost" }
        return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// True where a descriptor is a terminal.
    package static func isTerminal(_ number: Int32) -> Bool { isatty(number) == 1 }
}

/// Numbers from the kernel's random source (getrandom(2)).
package enum SystemRandom {
    /// 64 random bits.
    package static func bits() -> UInt64 {
        var value: UInt64 = 0
        precondition(cl_random(&value, 8) == 0, "the kernel gives no random numbers")
        return value
    }
}
