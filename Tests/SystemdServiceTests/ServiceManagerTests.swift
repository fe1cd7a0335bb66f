import Bytes
import Glibc
import Posix
import Testing
import Time

@testable import SystemdService

/// Serialised: the environment belongs to the whole process.
@Suite(.serialized)
struct ServiceManagerTests {
    /// A manager's socket at `path` (`@` for the abstract kind), and its messages.
    private final class Manager {
        private let descriptor: FileDescriptor

        init(_ path: String) throws {
            descriptor = FileDescriptor(taking: socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0))
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &address.sun_path) { room in
                for (index, byte) in path.utf8.enumerated() { room[index] = byte == UInt8(ascii: "@") ? 0 : byte }
            }
            let size = socklen_t(2 + path.utf8.count + (path.hasPrefix("/") ? 1 : 0))
            let result = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor.number, $0, size) }
            }
            try #require(result == 0)
            setenv("NOTIFY_SOCKET", path, 1)
        }

        deinit { unsetenv("NOTIFY_SOCKET") }

        func next() throws -> String? {
            guard try descriptor.waitReadable(milliseconds: 0) else { return nil }
            var bytes: [UInt8] = []
            _ = try descriptor.receive(upTo: 8_192, into: &bytes)
            return bytes.text
        }
    }

    private func path() -> String { "/tmp/uplinkd-notify-\(Process.identifier)-\(SystemRandom.bits())" }

    @Test func itIsKnownWhetherAManagerCouldHearThatTheDaemonIsReady() throws {
        let path = path()
        defer { try? FileSystem.unlink(path) }
        let manager = try Manager(path)
        let service = ServiceManager()
        var told = 0
        while told < 10_000, service.ready(status: "\(told)") { told += 1 }
        #expect(told > 0 && told < 10_000 && !service.ready(status: "still full"))
        for number in 0..<told { #expect(try manager.next() == "READY=1\nSTATUS=\(number)") }
        #expect(try manager.next() == nil && service.ready(status: "heard"))
        #expect(try manager.next() == "READY=1\nSTATUS=heard")
    }

    @Test(arguments: ["", "@"])
    func messages(_ kind: String) throws {
        let path = path()
        defer { try? FileSystem.unlink(path) }
        let manager = try Manager(kind.isEmpty ? path : "@" + path)
        let service = ServiceManager()
        #expect(service.ready(status: "offline: 3 queued"))
        #expect(try manager.next() == "READY=1\nSTATUS=offline: 3 queued")
        service.status("two\nREADY=0 lines \u{e9}")
        #expect(try manager.next() == "STATUS=two\\x0aREADY=0 lines \u{e9}")
        service.reloading()
        let reloading = try #require(try manager.next())
        #expect(reloading.hasPrefix("RELOADING=1\nMONOTONIC_USEC="))
        service.feedWatchdog()
        #expect(try manager.next() == "WATCHDOG=1")
        service.extendTimeout(by: .seconds(5), status: "recovering: 10 %")
        #expect(try manager.next() == "EXTEND_TIMEOUT_USEC=5000000\nSTATUS=recovering: 10 %")
        service.failed(status: "locked", errno: .access)
        #expect(try manager.next() == "STATUS=locked\nERRNO=13")
        service.stopping(status: "stopping")
        #expect(try manager.next() == "STOPPING=1\nSTATUS=stopping")
    }

    @Test func aLongStatusIsCutBetweenCharacters() throws {
        let path = path()
        defer { try? FileSystem.unlink(path) }
        let manager = try Manager(path)
        ServiceManager().status(String(repeating: "\u{1F600}", count: 2_000))
        let message = try #require(try manager.next())
        #expect(message.utf8.count <= 1_024 + 7)
        #expect(message.hasSuffix("\u{1F600}..."))
    }

    @Test func aManagerThatDoesNotReadHoldsNobodyUp() throws {
        let path = path()
        defer { try? FileSystem.unlink(path) }
        let manager = try Manager(path)
        let service = ServiceManager()
        let start = Clock.now
        for _ in 0..<5_000 { service.feedWatchdog() }
        #expect(Clock.now - start < .seconds(20))
        var read = 0
        while try manager.next() != nil { read += 1 }
        #expect((1..<5_000).contains(read))
        service.feedWatchdog()
        #expect(try manager.next() == "WATCHDOG=1")
    }

    @Test func withoutAManagerNothingHappens() throws {
        unsetenv("NOTIFY_SOCKET")
        #expect(ServiceManager().ready(status: "x"), "there is nobody to tell again")
        setenv("NOTIFY_SOCKET", "/nonexistent/notify", 1)
        #expect(ServiceManager().ready(status: "x"), "there is nobody to tell again")
        unsetenv("NOTIFY_SOCKET")
    }

    @Test func theWatchdogIsForThisProcess() throws {
        setenv("WATCHDOG_USEC", "30000000", 1)
        defer { unsetenv("WATCHDOG_USEC") }
        #expect(ServiceManager().watchdogInterval == .seconds(30))
        setenv("WATCHDOG_PID", "1", 1)
        #expect(ServiceManager().watchdogInterval == nil)
        setenv("WATCHDOG_PID", "\(Process.identifier)", 1)
        #expect(ServiceManager().watchdogInterval == .seconds(30))
        unsetenv("WATCHDOG_PID")
        unsetenv("WATCHDOG_USEC")
        #expect(ServiceManager().watchdogInterval == nil)
    }
}
