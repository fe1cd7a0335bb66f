/// The longest body that a destination takes, learnt from those that it found too long (413); it grows again by itself.
struct SizeLimit: Sendable {
    /// After so many batches in a row that were taken, twice as much is tried.
    private static let patience = 20
    /// The most that this becomes, where trying fails again and again.
    private static let longestPatience = 5_120

    /// Nil where nothing is known.
    private(set) var bytes: Int?
    /// What was taken before more was tried.
    private var proven: Int?
    private var patience = Self.patience
    private var taken = 0

    /// A body of so many bytes was too long.
    mutating func refused(bytes: Int) {
        taken = 0
        if let proven, proven < bytes {
            self.bytes = proven
            patience = min(patience * 2, Self.longestPatience)
        } else {
            self.bytes = max(1, bytes / 2)
        }
        proven = nil
    }

    /// A batch was taken; no body has more than `full` bytes.
    mutating func taken(of full: Int) {
        guard let limit = bytes else { return }
        taken += 1
        guard taken >= patience else { return }
        taken = 0
        proven = limit
        bytes = limit * 2 < full ? limit * 2 : nil
    }
}

/// Whether a destination takes compressed bodies.
enum Compression: Sendable {
    /// As the settings say; nothing is known.
    case usual
    /// A compressed body was refused with 415, and the same events are sent uncompressed.
    case trying
    /// It takes only what is not compressed.
    case unwanted
    /// It refuses uncompressed bodies as well: compression is as the settings say.
    case blameless

    /// True where bodies go uncompressed.
    var isOff: Bool { self == .trying || self == .unwanted }

    /// A batch was taken.
    mutating func taken() { if self == .trying { self = .unwanted } }

    /// A batch was refused, `forItself` for its encoding, perhaps; true where it is to be sent uncompressed.
    mutating func refused(isCompressed: Bool, forItself: Bool) -> Bool {
        if self == .trying { self = .blameless }
        guard self == .usual, isCompressed, forItself else { return false }
        self = .trying
        return true
    }
}
