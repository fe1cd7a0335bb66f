/// `[Queue]`: where events are kept, and how many.
package struct QueueSection: Sendable, Equatable {
    /// Room that is left to others.
    package enum Reserve: Sendable, Equatable {
        /// 0 to 90 hundredths of the file system.
        case percent(Int)
        case bytes(Int)
    }

    /// What happens to a new event where there is no room.
    package enum FullPolicy: String, Sendable, CaseIterable {
        case reject
        case dropOldest = "drop-oldest"
    }

    /// The unit that commits are padded to.
    package enum Block: Sendable, Equatable {
        /// The device's physical block.
        case automatic
        /// A power of two from 512 to 65,536.
        case bytes(Int)
    }

    /// An absolute path.
    package var directory = "/var/lib/uplinkd"
    /// What the whole directory may take.
    package var maximumBytes = 512 << 20
    package var keepFree: Reserve = .percent(5)
    /// nil: events do not expire by age.
    package var maximumAge: Duration?
    package var whenFull: FullPolicy = .reject
    package var block: Block = .automatic
    package var commitDelay: Duration = .zero

    /// The defaults.
    package init() {}
}
