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
}
