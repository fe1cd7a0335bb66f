internal import Bytes
package import Time

/// The machine's clocks at one moment.
package struct ClockReading: Sendable, Equatable {
    /// Tells this boot of the machine from others (`/proc/sys/kernel/random/boot_id`); empty where that is not known.
    package let boot: [UInt8]
    /// The boot clock, milliseconds.
    package let sinceBoot: UInt64
    /// Nil while the wall clock was not synchronised.
    package let wall: WallTime?

    package init(boot: [UInt8], sinceBoot: UInt64, wall: WallTime?) {
        self.boot = Array(boot.prefix(Self.maximumBoot))
        self.sinceBoot = sinceBoot
        self.wall = wall
    }

    fileprivate static let maximumBoot = 40
}

/// The file `clock`: the age clock beside the machine's clocks, so that time switched off is told from a clock that was
/// set; 512 bytes; little-endian.
///
///     0  u32  "UPK1"
///     4  u32  CRC32C of bytes 8 ..< 512, seeded with the first four bytes of the queue's identity
///     8  u64  age clock, milliseconds
///    16  u64  boot clock, milliseconds
///    24  i64  wall time, milliseconds; Int64.min while the clock was not synchronised
///    32  u8   length of the boot's id
///    33  40 B the boot's id
///    73       zeros
package struct ClockRecord: Sendable, Equatable {
    static let path = "clock"
    static let size = 512
    private static let magic: UInt32 = 0x314B_5055

    /// The age clock, milliseconds.
    package let age: UInt64
    package let reading: ClockReading

    package init(age: UInt64, _ reading: ClockReading) {
        self.age = age
        self.reading = reading
    }

    func encode(seal: UInt32) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.appendLittleEndian(Self.magic)
        bytes.appendLittleEndian(UInt32(0))
        bytes.appendLittleEndian(age)
        bytes.appendLittleEndian(reading.sinceBoot)
        bytes.appendLittleEndian(reading.wall?.milliseconds ?? RecordLayout.noWallTime)
        bytes.append(UInt8(reading.boot.count))
        bytes += reading.boot
        bytes.appendZeros(Self.size - bytes.count)
        bytes.storeLittleEndian(CRC32C.of(bytes, in: 8..<Self.size, seed: seal), at: 4)
        return bytes
    }

    /// Reads a record; nil where it is not whole.
    init?(_ bytes: [UInt8], seal: UInt32) {
        guard bytes.count >= Self.size, bytes.loadLittleEndian(at: 0, as: UInt32.self) == Self.magic,
            bytes.loadLittleEndian(at: 4, as: UInt32.self) == CRC32C.of(bytes, in: 8..<Self.size, seed: seal)
        else { return nil }
        let boot = Int(bytes[32])
        let wall = bytes.loadLittleEndian(at: 24, as: Int64.self)
        guard boot <= ClockReading.maximumBoot else { return nil }
        self.init(
            age: bytes.loadLittleEndian(at: 8, as: UInt64.self),
            ClockReading(
                boot: Array(bytes[33..<33 + boot]), sinceBoot: bytes.loadLittleEndian(at: 16, as: UInt64.self),
                wall: wall == RecordLayout.noWallTime ? nil : WallTime(milliseconds: wall)))
    }
}

extension ClockRecord {
    /// The age clock at another reading of the clocks, at least what it was.
    ///
    /// In the same boot the boot clock tells. Over another, time counts only if the wall clock was synchronised before
    /// and after and did not go back: an event may be thought younger than it is, never older.
    package func age(at now: ClockReading) -> UInt64 {
        if !reading.boot.isEmpty, now.boot == reading.boot {
            return now.sinceBoot > reading.sinceBoot ? age + (now.sinceBoot - reading.sinceBoot) : age
        }
        guard let before = reading.wall, let after = now.wall, after > before else { return age }
        return age + UInt64(after.milliseconds - before.milliseconds)
    }

    /// True where the wall clock was set since, or has been synchronised, or is no more.
    package func isOutdated(at now: ClockReading) -> Bool {
        guard let before = reading.wall, let after = now.wall else { return (reading.wall == nil) != (now.wall == nil) }
        let passed = Int64(clamping: now.sinceBoot) - Int64(clamping: reading.sinceBoot)
        return abs(after.milliseconds - before.milliseconds - passed) > Self.mostDrift
    }

    /// Milliseconds by which the wall clock may be off before it counts as set.
    private static let mostDrift: Int64 = 500
}

extension Queue {
    /// Writes down the clocks of now, for the next start.
    ///
    /// Where that fails, or nothing was written yet, time until the next start may not count: events expire later.
    package func keep(_ record: ClockRecord) {
        guard lock != nil, unwrittenFormat == nil else { return }
        try? writeClock(record)
    }

    private func writeClock(_ record: ClockRecord) throws {
        let file = try storage.open(ClockRecord.path, .create)
        try file.write(record.encode(seal: identity.seal), in: 0..<ClockRecord.size, at: 0)
        hasClock = true
        try file.synchroniseData()
    }

    /// What the last run wrote down; nil where nothing can be read.
    func readClock() -> ClockRecord? {
        var bytes: [UInt8] = []
        guard let file = try? storage.open(ClockRecord.path, .readOnly) else { return nil }
        hasClock = true
        _ = try? file.read(upTo: ClockRecord.size, at: 0, into: &bytes)
        return ClockRecord(bytes, seal: identity.seal)
    }
}
