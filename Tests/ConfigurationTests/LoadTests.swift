import Bytes
import Configuration
import Posix
import Testing

struct LoadTests {
    /// A folder of its own for `body`, removed afterwards.
    private func inFolder(_ body: (String) throws -> Void) throws {
        let folder = "/tmp/uplinkd-test-\(Process.identifier)-\(SystemRandom.bits())"
        try FileSystem.makeDirectory(folder, mode: 0o700)
        defer { remove(folder) }
        try body(folder)
    }

    private func remove(_ folder: String) {
        for name in (try? FileSystem.names(in: folder)) ?? [] {
            let path = folder + "/" + name
            if (try? FileSystem.status(of: path))?.kind == .directory {
                remove(path)
            } else {
                try? FileSystem.unlink(path)
            }
        }
        try? FileSystem.removeDirectory(folder)
    }

    private func write(_ text: String, to path: String) throws {
        let file = try FileDescriptor.open(path, [.readWrite, .create, .exclusive])
        try file.write(Array(text.utf8), in: 0..<text.utf8.count, at: 0)
    }

    @Test func dropInsComeInTheOrderOfTheirNames() throws {
        try inFolder { folder in
            try write("[Queue]\nMaxSize=1G\n", to: folder + "/u.conf")
            try FileSystem.makeDirectory(folder + "/u.conf.d", mode: 0o700)
            try write("[Queue]\nMaxSize=3G\n", to: folder + "/u.conf.d/20.conf")
            try write("[Queue]\nMaxSize=2G\nBlock=4K\n", to: folder + "/u.conf.d/10.conf")
            try write("[Queue]\nMaxSize=x\n", to: folder + "/u.conf.d/30.conf.bak")
            try write("[Queue]\nMaxSize=x\n", to: folder + "/u.conf.d/.40.conf")
            let (found, problems) = Configuration.load(path: folder + "/u.conf")
            let all = try #require(found, "\(problems)")
            #expect(all.queue.maximumBytes == 3 << 30)
            #expect(all.queue.block == .bytes(4_096))
        }
    }

    @Test func aMissingFileIsAnError() throws {
        try inFolder { folder in
            let (found, problems) = Configuration.load(path: folder + "/u.conf")
            #expect(found == nil)
            #expect(
                problems.first?.description
                    == "\(folder)/u.conf:1:1: error: cannot be read: ENOENT: No such file or directory")
        }
    }

    @Test func aHugeFileIsAnError() throws {
        try inFolder { folder in
            try write(String(repeating: "#", count: 1 << 20), to: folder + "/a.conf")
            #expect(Configuration.load(path: folder + "/a.conf").configuration != nil)
            try write(String(repeating: "#", count: (1 << 20) + 1), to: folder + "/b.conf")
            let (found, problems) = Configuration.load(path: folder + "/b.conf")
            #expect(found == nil)
            #expect(problems.first?.message == "cannot be read: more than 1048576 bytes")
        }
    }

    @Test func tooManyDropInsAreAnError() throws {
        try inFolder { folder in
            try write("", to: folder + "/u.conf")
            try FileSystem.makeDirectory(folder + "/u.conf.d", mode: 0o700)
            for number in 0...100 { try write("", to: folder + "/u.conf.d/\(number).conf") }
            #expect(Configuration.load(path: folder + "/u.conf").configuration == nil)
        }
    }
}
