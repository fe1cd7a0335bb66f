/// The unit in which a log is written: a batch starts on one and fills whole ones, and no written one is written again.
package enum Block {
    /// The least, in bytes; every block is a multiple of it.
    package static let least = 512
    /// The most, in bytes.
    static let most = 65_536
    /// What is taken where the device's physical block is not known.
    package static let unknownDevice = 4_096

    /// True for powers of two from 512 bytes to 64 KiB.
    package static func isPossible(_ size: Int) -> Bool {
        size >= least && size <= most && size & (size - 1) == 0
    }
}
