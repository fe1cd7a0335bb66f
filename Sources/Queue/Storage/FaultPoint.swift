#if DEBUG
    internal import Posix
    internal import Time

    /// A place at which a debug build can be made to fail: before or after a call that changes a kind of file.
    package struct FaultPoint: Hashable, Sendable {
        /// On which side of the call it is.
        package enum Side: String, CaseIterable, Sendable { case before, after }
        /// What is done.
        package enum Call: String, CaseIterable, Sendable { case write, sync, rename, unlink, directory }
        /// What it is done to; a rename is to its new name, a directory is named for what stands in it.
        package enum Kind: String, CaseIterable, Sendable { case segment, spare, cursors, letter, other }

        package let side: Side
        package let call: Call
        package let kind: Kind

        /// Its name: `after-sync-segment`.
        package var name: String { "\(side.rawValue)-\(call.rawValue)-\(kind.rawValue)" }

        /// All of them.
        package static var all: [FaultPoint] {
            Side.allCases.flatMap { side in
                Call.allCases.flatMap { call in
                    Kind.allCases.map { FaultPoint(side: side, call: call, kind: $0) }
                }
            }
        }

        static func kind(of path: String) -> Kind {
            if path.hasPrefix(DeadLetterStore.folder) { return .letter }
            if path.hasPrefix(CursorFile.path) || path.isEmpty { return .cursors }
            guard path.hasPrefix(LogState.folder + "/") else { return .other }
            return path.hasSuffix("/" + SpareSegment.name) ? .spare : .segment
        }
    }

    /// What the environment asks for: `UPLINKD_FAULT=name:panic`, `name:eio` or `name:sleep:milliseconds`.
    ///
    /// `UPLINKD_FAULT_SKIP` tells how many times the place is passed unharmed before. `panic` ends the process there
    /// and then, with status 99. It happens once.
    final class Fault {
        /// What is done at the place.
        enum Action: Equatable {
            case panic
            case fail
            case sleep(Duration)
        }

        static let status: Int32 = 99
        private let name: String
        private let action: Action
        private var skip: Int
        private var isDone = false

        /// Nil where nothing is asked for, or nothing that exists.
        init?(_ text: String?, skip: String?) {
            guard let parts = text?.split(separator: ":"), parts.count >= 2,
                FaultPoint.all.contains(where: { $0.name == parts[0] })
            else { return nil }
            name = String(parts[0])
            switch (parts[1], parts.count) {
            case ("panic", 2): action = .panic
            case ("eio", 2): action = .fail
            case ("sleep", 3):
                guard let milliseconds = Int64(String(parts[2])) else { return nil }
                action = .sleep(.milliseconds(milliseconds))
            default: return nil
            }
            self.skip = skip.flatMap { Int($0) } ?? 0
        }

        func pass(_ side: FaultPoint.Side, _ call: FaultPoint.Call, _ path: String) throws(Errno) {
            guard !isDone, name == FaultPoint(side: side, call: call, kind: FaultPoint.kind(of: path)).name else {
                return
            }
            guard skip == 0 else {
                skip -= 1
                return
            }
            isDone = true
            switch action {
            case .panic: Process.exit(Self.status)
            case .fail: throw .io
            case .sleep(let duration): Clock.sleep(duration)
            }
        }
    }

    /// A storage that fails where the environment says so.
    final class FaultStorage: Storage {
        private let storage: any Storage
        private let fault: Fault

        init(_ storage: any Storage, _ fault: Fault) {
            self.storage = storage
            self.fault = fault
        }

        var root: String { storage.root }
        var physicalBlock: Int { storage.physicalBlock }
        var user: UInt32 { storage.user }

        func open(_ path: String, _ mode: StorageMode) throws(Errno) -> any StorageFile {
            FaultFile(try storage.open(path, mode), path, fault)
        }

        func status(of path: String) throws(Errno) -> StorageStatus { try storage.status(of: path) }
        func createDirectory(_ path: String) throws(Errno) { try storage.createDirectory(path) }
        func names(in path: String) throws(Errno) -> [String] { try storage.names(in: path) }
        func space() throws(Errno) -> StorageSpace { try storage.space() }

        func rename(_ from: String, to: String) throws(Errno) {
            try fault.pass(.before, .rename, to)
            try storage.rename(from, to: to)
            try fault.pass(.after, .rename, to)
        }

        func unlink(_ path: String) throws(Errno) {
            try fault.pass(.before, .unlink, path)
            try storage.unlink(path)
            try fault.pass(.after, .unlink, path)
        }

        func synchroniseDirectory(_ path: String) throws(Errno) {
            try fault.pass(.before, .directory, path)
            try storage.synchroniseDirectory(path)
            try fault.pass(.after, .directory, path)
        }
    }

    /// An open file of a `FaultStorage`.
    private final class FaultFile: StorageFile {
        private let file: any StorageFile
        private let path: String
        private let fault: Fault

        init(_ file: any StorageFile, _ path: String, _ fault: Fault) {
            self.file = file
            self.path = path
            self.fault = fault
        }

        func read(upTo count: Int, at offset: Int, into buffer: inout [UInt8]) throws(Errno) -> Int {
            try file.read(upTo: count, at: offset, into: &buffer)
        }

        func write(_ bytes: borrowing [UInt8], in range: Range<Int>, at offset: Int) throws(Errno) {
            try fault.pass(.before, .write, path)
            try file.write(bytes, in: range, at: offset)
            try fault.pass(.after, .write, path)
        }

        func synchroniseData() throws(Errno) {
            try fault.pass(.before, .sync, path)
            try file.synchroniseData()
            try fault.pass(.after, .sync, path)
        }

        func allocate(_ size: Int) throws(Errno) { try file.allocate(size) }
        func release(_ range: Range<Int>) throws(Errno) { try file.release(range) }
        func size() throws(Errno) -> Int { try file.size() }
        func tryLock() throws(Errno) -> Bool { try file.tryLock() }
    }
#endif

extension Storage {
    /// The same, with the fault that the environment of a debug build asks for.
    package var withFault: any Storage {
        #if DEBUG
            if let fault = Fault(
                Process.environment("UPLINKD_FAULT"), skip: Process.environment("UPLINKD_FAULT_SKIP"))
            {
                return FaultStorage(self, fault)
            }
        #endif
        return self
    }
}
