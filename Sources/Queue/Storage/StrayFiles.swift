internal import Bytes
internal import Posix

/// What lies in the queue's directory and is no part of the queue: left alone, but it takes room of `MaxSize` as well.
struct StrayFiles {
    /// So many names at most are looked at in one go.
    private static let maximumNames = 10_000
    private static let page = 4_096

    /// What they take on disk, bytes.
    private(set) var bytes = 0
    private var paths: Set<String> = []

    func contains(_ path: String) -> Bool { paths.contains(path) }

    /// Takes up more of them, and looks at all again: some may have gone, or grown.
    mutating func measure(adding new: [String], in storage: any Storage) {
        paths.formUnion(new)
        bytes = 0
        var left = Self.maximumNames
        for path in paths.sorted() {
            guard let found = Self.bytes(of: path, in: storage, &left) else {
                paths.remove(path)
                continue
            }
            bytes += found
        }
    }

    /// What a file takes, or a folder with all that is in it; nil where there is nothing.
    private static func bytes(of path: String, in storage: any Storage, _ left: inout Int) -> Int? {
        var sum: Int?
        var waiting = [path]
        while let next = waiting.popLast(), left > 0 {
            left -= 1
            guard let status = try? storage.status(of: next) else { continue }
            let room = status.kind == .directory ? page : roundedUp(status.allocated, to: page)
            sum = (sum ?? 0) + room
            guard status.kind == .directory, let names = try? storage.names(in: next) else { continue }
            waiting += names.map { next + "/" + $0 }
        }
        return sum
    }
}
