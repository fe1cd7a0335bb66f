internal import Bytes
package import Reachability
package import Time

/// An event that a destination has proved it will never take, as it stands in a file of its own; little-endian.
///
///     0  u32  "UPD1"
///     4  u32  CRC32C of bytes 8 ..< the file's end, seeded with the first four bytes of the queue's identity
///     8  u64  epoch
///    16  u64  sequence number
///    24  i64  wall time of acceptance, milliseconds; Int64.min while the clock was not synchronised
///    32  i64  wall time of the answer, milliseconds
///    40  u16  status of the answer; 0: there was none
///    42  u8   connection type at acceptance, as in a batch; 0: it is not known
///    43  u8   0
///    44  u32  tries
///    48  u32  E: length of the event
///    52  u16  D: length of the detail, at most 2,048
///    54  u8   length of the destination's name
///    55  u8   length of the log's name
///    56       the destination's name, the log's name, the event, the detail; nothing behind them
package struct DeadLetter: Sendable, Equatable {
    /// The most bytes of an answer that are kept.
    package static let maximumDetail = 2_048
    private static let magic: UInt32 = 0x3144_5055
    private static let headerSize = 56
    /// No letter is longer.
    static let maximumBytes = OpenBatch.maximumBytes + maximumDetail + 256

    package let destination: String
    package let log: LogName
    package let id: EventID
    package let event: [UInt8]
    /// Nil where the clock was not synchronised.
    package let acceptedAt: WallTime?
    /// The link at acceptance.
    package let connectionType: ConnectionType
    /// The answer's status; 0 where there was none.
    package let status: Int
    package let attempts: Int
    /// When the answer came.
    package let at: WallTime
    /// The start of the answer.
    package let detail: [UInt8]

    package init(
        destination: String, log: LogName, id: EventID, event: [UInt8], acceptedAt: WallTime?,
        connectionType: ConnectionType = .unknown, status: Int, attempts: Int, at: WallTime, detail: [UInt8]
    ) {
        self.destination = destination
        self.log = log
        self.id = id
        self.event = event
        self.acceptedAt = acceptedAt
        self.connectionType = connectionType
        self.status = status
        self.attempts = attempts
        self.at = at
        self.detail = Array(detail.prefix(Self.maximumDetail))
    }

    /// Where it is kept.
    package var name: DeadLetterName {
        DeadLetterName(destination: destination, log: log, sequence: id.sequence)
    }

    func encode(seal: UInt32) -> [UInt8] {
        var bytes: [UInt8] = []
        let names = [Array(destination.utf8), Array(log.text.utf8)]
        bytes.reserveCapacity(Self.headerSize + names[0].count + names[1].count + event.count + detail.count)
        bytes.appendLittleEndian(Self.magic)
        bytes.appendLittleEndian(UInt32(0))
        bytes.appendLittleEndian(id.epoch)
        bytes.appendLittleEndian(id.sequence)
        bytes.appendLittleEndian(acceptedAt?.milliseconds ?? RecordLayout.noWallTime)
        bytes.appendLittleEndian(at.milliseconds)
        bytes.appendLittleEndian(UInt16(clamping: status))
        bytes += [connectionType.rawValue, 0]
        bytes.appendLittleEndian(UInt32(clamping: attempts))
        bytes.appendLittleEndian(UInt32(event.count))
        bytes.appendLittleEndian(UInt16(detail.count))
        for name in names { bytes.append(UInt8(name.count)) }
        for part in names + [event, detail] { bytes.append(all: part) }
        bytes.storeLittleEndian(CRC32C.of(bytes, in: 8..<bytes.count, seed: seal), at: 4)
        return bytes
    }

    /// Reads a whole file; nil where it is damaged.
    init?(_ bytes: [UInt8], seal: UInt32) {
        guard bytes.count >= Self.headerSize, bytes.loadLittleEndian(at: 0, as: UInt32.self) == Self.magic,
            bytes.loadLittleEndian(at: 4, as: UInt32.self) == CRC32C.of(bytes, in: 8..<bytes.count, seed: seal)
        else { return nil }
        func half(_ place: Int) -> Int { Int(bytes.loadLittleEndian(at: place, as: UInt32.self)) }
        let lengths = [
            Int(bytes[54]), Int(bytes[55]), half(48), Int(bytes.loadLittleEndian(at: 52, as: UInt16.self)),
        ]
        guard Self.headerSize + lengths.reduce(0, +) == bytes.count else { return nil }
        var at = Self.headerSize
        let parts = lengths.map { length in
            defer { at += length }
            return Array(bytes[at..<at + length])
        }
        guard let log = LogName(text: parts[1].text) else { return nil }
        let wall = bytes.loadLittleEndian(at: 24, as: Int64.self)
        self.init(
            destination: parts[0].text, log: log,
            id: EventID(
                epoch: bytes.loadLittleEndian(at: 8, as: UInt64.self),
                sequence: bytes.loadLittleEndian(at: 16, as: UInt64.self)),
            event: parts[2], acceptedAt: RecordLayout.wallTime(wall),
            connectionType: ConnectionType(rawValue: bytes[42]) ?? .unknown,
            status: Int(bytes.loadLittleEndian(at: 40, as: UInt16.self)), attempts: half(44),
            at: WallTime(milliseconds: bytes.loadLittleEndian(at: 32, as: Int64.self)), detail: parts[3])
    }
}
