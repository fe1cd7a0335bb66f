internal import Bytes
package import Gates
package import Time

/// Events of one log and one accept context that the next sync makes durable; filled on the loop's thread.
///
/// `records` is laid out as on disk (see `RecordLayout`) but for sequence number and checksum, which the disk thread
/// fills in when it knows the segment.
package struct OpenBatch: Sendable {
    /// The most events in a batch.
    package static let maximumEvents = 4_096
    /// The most bytes of records in a batch.
    package static let maximumBytes = 4 * 1_048_576 + RecordLayout.headerSize + 8

    package private(set) var log: LogName
    package private(set) var context: AcceptContext
    /// The length of each event in bytes.
    package private(set) var lengths: [UInt32] = []
    /// Headers, events, padding.
    package private(set) var records: [UInt8] = []
    /// Of a batch that an earlier start accepted; nil where it is new.
    var origin: Origin?

    /// What a batch keeps when it is committed again.
    struct Origin {
        let epoch: UInt64
        let wall: WallTime
        /// The age clock, milliseconds.
        let age: UInt64
    }

    package init(log: LogName, context: AcceptContext) {
        self.log = log
        self.context = context
    }

    /// Makes an empty batch, such as a commit gives back, into one of another log or context, keeping its storage.
    package mutating func reuse(log: LogName, context: AcceptContext) {
        precondition(count == 0)
        self.log = log
        self.context = context
    }

    /// Empties it, keeping its storage.
    mutating func removeAll() {
        lengths.removeAll(keepingCapacity: true)
        records.removeAll(keepingCapacity: true)
        origin = nil
    }

    /// Fills in the sequence numbers from `first` on and the checksums, and writes the length table onto `table`.
    mutating func seal(first: UInt64, seed: UInt32, table: inout [UInt8]) {
        var at = 0
        for index in 0..<lengths.count {
            let length = Int(lengths[index])
            records.storeLittleEndian(first + UInt64(index), at: at + 8)
            let end = at + RecordLayout.headerSize + length
            records.storeLittleEndian(CRC32C.of(records, in: at + 4..<end, seed: seed), at: at)
            let destinations = UInt64(records.loadLittleEndian(at: at + 28, as: UInt32.self))
            table.appendLittleEndian(UInt64(length) | destinations << 32)
            at += RecordLayout.size(ofEvent: length)
        }
    }

    /// Takes out the bytes of an event, which the batch keeps a place for.
    mutating func makeHole(at place: Int) {
        let start = lengths[..<place].reduce(0) { $0 + RecordLayout.size(ofEvent: Int($1)) }
        let mask = records.loadLittleEndian(at: start + 28, as: UInt32.self)
        records.storeLittleEndian(mask | RecordLayout.hole, at: start + 28)
        let event = start + RecordLayout.headerSize
        for index in event..<event + Int(lengths[place]) { records[index] = 0 }
    }

    /// How many of its events were purged.
    var holes: Int {
        var at = 0
        return lengths.count { length in
            defer { at += RecordLayout.size(ofEvent: Int(length)) }
            return RecordLayout.isHole(records, at: at)
        }
    }

    /// How many events it holds.
    package var count: Int { lengths.count }

    /// True where one more event of that many bytes fits.
    private func hasRoom(for bytes: Int) -> Bool {
        count < Self.maximumEvents && records.count + RecordLayout.size(ofEvent: bytes) <= Self.maximumBytes
    }

    /// Adds the event whose record begins at `index` of `source`; false where it has no room.
    mutating func append(record source: borrowing [UInt8], at index: Int, length: Int) -> Bool {
        guard hasRoom(for: length) else { return false }
        records.append(source, index..<index + RecordLayout.headerSize + length)
        records.appendZeros(RecordLayout.size(ofEvent: length) - RecordLayout.headerSize - length)
        lengths.append(UInt32(length))
        return true
    }

    /// Adds an event and returns its place in the batch, from 0; nil where it has no room.
    ///
    /// `acceptedAt` is nil while the wall clock is not synchronised, `timeToLive` 0 where the event has none.
    package mutating func append(
        _ event: Span<UInt8>, acceptedAt: WallTime?, timeToLiveSeconds: UInt32 = 0,
        duplicateKey: DuplicateKey = .none
    ) -> Int? {
        guard hasRoom(for: event.count) else { return nil }
        let wall = acceptedAt?.milliseconds ?? RecordLayout.noWallTime
        let purpose = UInt64(timeToLiveSeconds) | UInt64(RecordLayout.allDestinations) << 32
        records.append(
            words: [
                UInt64(event.count) << 32, 0, UInt64(bitPattern: wall), purpose, duplicateKey.low, duplicateKey.high,
            ], event, paddedTo: 8)
        lengths.append(UInt32(event.count))
        return lengths.count - 1
    }
}

/// What tells a repeated request from a new one: 128 bits, all zero where the client gave nothing.
package struct DuplicateKey: Hashable, Sendable {
    package let low: UInt64
    package let high: UInt64

    package init(low: UInt64, high: UInt64) {
        self.low = low
        self.high = high
    }

    package static let none = DuplicateKey(low: 0, high: 0)
}
