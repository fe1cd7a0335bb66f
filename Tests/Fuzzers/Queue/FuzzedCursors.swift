@testable import Queue

/// The file of the cursors, with any content.
enum FuzzedCursors {
    static func run(_ sealing: Sealing, _ input: [UInt8]) {
        let disk = OneFile()
        disk.path = CursorFile.path
        disk.bytes = input
        sealing.seal(cursors: &disk.bytes, with: 0)
        let found = CursorFile(disk, seal: 0).load()
        precondition(!found.isMissing)
        for slot in found.slots {
            precondition(slot.low >= 1 && slot.low - 1 - slot.origin == slot.ledger.total)
            precondition(CursorSlot(slot.encode(seal: 0), at: 0, seal: 0) == slot, "it is written otherwise than read")
        }
    }
}
