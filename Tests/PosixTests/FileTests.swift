import Posix
import Testing

/// Reading whole files.
struct FileTests {
    @Test func aFileIsReadUpToItsLimit() throws {
        let bytes = try FileSystem.contents(of: "/proc/self/comm", limit: 64)
        #expect(!bytes.isEmpty)
        #expect(throws: Errno.fileTooLarge) { try FileSystem.contents(of: "/proc/self/maps", limit: 64) }
    }

    /// One without a writer keeps a plain open(2) waiting, one with a silent writer a read(2).
    @Test func whatIsNoRegularFileIsRefusedWithoutWaiting() throws {
        #expect(throws: Errno.invalid) { try FileSystem.contents(of: "/dev/zero", limit: 64) }
        #expect(throws: Errno.isDirectory) { try FileSystem.contents(of: "/", limit: 64) }
    }

    @Test func holesArePassed() throws {
        let path = "/tmp/uplinkd-posix-\(Process.identifier)-\(SystemRandom.bits())"
        let file = try FileDescriptor.open(path, [.readWrite, .create, .exclusive])
        defer { try? FileSystem.unlink(path) }
        try file.write([1], in: 0..<1, at: 1 << 30)
        let data = try #require(try file.dataStart(from: 0))
        #expect(data > 0 && data <= 1 << 30)
        #expect(try file.dataStart(from: 1 << 30) == 1 << 30)
        #expect(try file.dataStart(from: 1 << 31) == nil)
    }
}
