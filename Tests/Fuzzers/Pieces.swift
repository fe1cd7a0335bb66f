/// Input that comes whole, or a few bytes at a time.
struct Pieces {
    private let bytes: [UInt8]
    private let length: Int
    private var at = 0

    /// Pieces of 1 to 64 bytes.
    init(_ bytes: [UInt8], steeredBy first: UInt8) { self.init(bytes, length: Int(first) % 64 + 1) }

    /// All in one piece.
    init(whole bytes: [UInt8]) { self.init(bytes, length: max(bytes.count, 1)) }

    private init(_ bytes: [UInt8], length: Int) {
        self.bytes = bytes
        self.length = length
    }

    /// Appends the next piece to what waits; false once there is none.
    mutating func next(into waiting: inout [UInt8]) -> Bool {
        guard at < bytes.count else { return false }
        let end = min(at + length, bytes.count)
        waiting += bytes[at..<end]
        at = end
        return true
    }
}
