internal import Bytes
internal import Gates
internal import Posix
internal import Queue
internal import Reachability
internal import Time

/// The real queue on the simulated disk.
final class RealQueue: QueueUnderTest {
    static let traits = QueueTraits(mostResent: nil, namesDamage: true, trustsStarts: true, keepsConsent: true)
    static let logNames: [LogName] = [.urgent, .normal, .consent("ads")]
    static let destinationNames = ["first", "second", "third"]
    /// Failed reads after which bytes count as damaged; one more try tells.
    private static let readTries = 7

    let disk: SimulatedDisk
    let plan: FaultPlan
    var random: SplitMix64
    private let options: QueueOptions
    private var held: Queue?
    private var clock = Instant(nanoseconds: 1_000_000_000)
    /// Logs that have to commit before the disk loses what a failed sync took back.
    var owing: Set<Int> = []
    var injuries: [Injury] = []

    init(seed: UInt64, plan: FaultPlan) {
        self.plan = plan
        random = SplitMix64(seed: seed ^ 0xF417)
        disk = SimulatedDisk(seed: seed, physicalBlock: 512)
        disk.faultsIn = "logs/"
        disk.ignoresSyncs = plan.liesAboutSyncs
        let isSmall = Bool.random(using: &random)
        var options = QueueOptions(maximumBytes: isSmall ? 256 << 10 : 4 << 20, keepFree: .bytes(0), block: 512)
        options.whenFull = Bool.random(using: &random) ? .dropOldest : .reject
        // Some read a segment piece by piece, some have many batches in one.
        let readScale = Int.random(in: 0...5, using: &random)
        if readScale < 4 { options.readBytes = 512 << readScale }
        let scale = isSmall ? 0 : Int.random(in: 0...4, using: &random)
        options.firstSegmentBytes = (4 << 10) << scale
        options.segmentBytes = (8 << 10) << scale
        options.lettersPerSlice = 1
        self.options = options
    }

    var queue: Queue {
        guard let held else { preconditionFailure("the queue is not open") }
        return held
    }

    func start(seed: UInt64, destinations: [Int], crashingAfter steps: Int?) -> String? {
        if let steps { disk.crashStep = disk.steps + steps }
        var bits = SplitMix64(seed: seed)
        do throws(QueueError) {
            held = try Queue.open(
                disk, options: options, destinations: destinations.map { Self.destinationNames[$0] },
                at: WallTime(milliseconds: 1_000), randomBits: { bits.next() }, clock: { Instant(nanoseconds: 0) })
        } catch {
            if !disk.hasCrashed { return "\(error)" }
        }
        tryAgain()
        if !disk.hasCrashed {
            disk.crashStep = nil
            if queue.recovery.failures.isEmpty { owing = [] }
        }
        isFreshlyStarted = true
        acceptedCounts = []
        return nil
    }

    /// Where the start failed to read all: a second each, until what the disk does not give counts as damaged.
    private func tryAgain() {
        for _ in 0..<Self.readTries where !disk.hasCrashed && !queue.recovery.failures.isEmpty {
            _ = queue.housekeep(at: clock, age: 0)
            clock = clock + .seconds(1)
        }
    }

    func end(_ end: ProcessEnd) {
        held = nil
        if end == .powerCut { owing = [] }
        disk.restart(after: end == .kill ? .kill : .powerCut)
        disk.capacity = 1 << 40
    }

    func crash(afterSteps steps: Int) { disk.crashStep = disk.steps + steps }

    var hasCrashed: Bool { disk.hasCrashed }

    func close() -> Bool {
        guard synchroniseCursors() else { return false }
        queue.close()
        return true
    }

    func commit(_ batches: [(log: Int, posts: [Post])], at now: Int) -> [Int: Accepted] {
        var open = batches.map { log, posts in
            var batch = OpenBatch(
                log: Self.logNames[log], context: AcceptContext(connectionType: .ethernet, closed: []))
            for post in posts {
                let life = post.deadline.map { UInt32($0 - now) } ?? 0
                _ = batch.append(
                    EventBytes.make(post.token).span, acceptedAt: WallTime(milliseconds: 5_000),
                    timeToLiveSeconds: life, duplicateKey: DuplicateKey(low: UInt64(post.token), high: 0))
            }
            return batch
        }
        let outcomes = queue.commit(&open, at: WallTime(milliseconds: 10_000), age: Self.age(now))
        acceptedCounts = []
        var accepted: [Int: Accepted] = [:]
        for (index, outcome) in outcomes.enumerated() {
            guard case .committed(_, let epoch, let first, _) = outcome else { continue }
            owing.remove(batches[index].log)
            accepted[batches[index].log] = Accepted(first: Int(first), epoch: epoch)
        }
        if owing.isEmpty { disk.loseReverted() }
        return accepted
    }

    /// The age clock, in milliseconds.
    private static func age(_ now: Int) -> UInt64 { UInt64(now) * 1_000 }

    func read(_ destination: Int, _ log: Int, events: Int, at now: Int) -> [ReadItem] {
        guard let low = queue.cursor(destination: Self.destinationNames[destination], log: Self.logNames[log])?.low,
            let chunk = chunk(destination, log, from: low, limit: events * 300, age: Self.age(now))
        else { return [] }
        return items(of: chunk)
    }

    func readAll(_ destination: Int, _ log: Int) -> [ReadItem]? {
        guard var next = queue.cursor(destination: Self.destinationNames[destination], log: Self.logNames[log])?.low
        else { return nil }
        let accepted = accepted(log)
        var all: [ReadItem] = []
        while next <= accepted, let chunk = chunk(destination, log, from: next, limit: 8_192, age: 0) {
            all += items(of: chunk)
            next = chunk.sequences.upperBound + 1
        }
        return all
    }

    private func chunk(_ destination: Int, _ log: Int, from low: UInt64, limit: Int, age: UInt64) -> Chunk? {
        for _ in 0..<Self.readTries {
            do throws(QueueError) {
                return try queue.read(
                    Self.logNames[log], for: Self.destinationNames[destination], from: low, limit: limit, age: age)
            } catch {
                if disk.hasCrashed { return nil }
            }
        }
        return nil
    }

    private func items(of chunk: Chunk) -> [ReadItem] {
        var items = chunk.records.map { record in
            let token = EventBytes.token(of: chunk.bytes, in: record.range)
            return ReadItem(sequence: Int(record.sequence), content: .event(token: token, epoch: chunk.epoch))
        }
        for run in chunk.disposed {
            items += run.sequences.map { ReadItem(sequence: Int($0), content: .disposed(run.kind)) }
        }
        if !chunk.disposed.isEmpty { items.sort { $0.sequence < $1.sequence } }
        return items
    }

    func settle(_ destination: Int, _ log: Int, _ fates: [(sequence: Int, fate: Fate)]) {
        var runs: [Disposition] = []
        for (sequence, fate) in fates { runs.extend(fate, UInt64(sequence)...UInt64(sequence)) }
        queue.settle(destination: Self.destinationNames[destination], log: Self.logNames[log], runs)
    }

    func bury(_ destination: Int, _ log: Int, _ item: SentItem) -> Bool {
        let letter = DeadLetter(
            destination: Self.destinationNames[destination], log: Self.logNames[log],
            id: EventID(epoch: item.epoch, sequence: UInt64(item.sequence)), event: EventBytes.make(item.token),
            acceptedAt: WallTime(milliseconds: 5_000), status: 400, attempts: 1, at: WallTime(milliseconds: 9_000),
            detail: [])
        return attempt { () throws(QueueError) in try queue.bury([letter]) }
    }

    func purge(_ sequences: ClosedRange<Int>, of log: Int, epochs: [UInt64]) -> Bool {
        let ids = zip(sequences, epochs).map { EventID(epoch: $1, sequence: UInt64($0)) }
        return attempt { () throws(QueueError) in _ = try queue.purge(ids: ids) }
    }

    func purge(_ log: Int) -> Bool {
        attempt { () throws(QueueError) in
            var letters = try queue.beginPurge(log: Self.logNames[log]).letters
            while try !queue.advance(&letters) {
                if Bool.random(using: &random) { _ = queue.housekeep(at: clock, age: 0) }
            }
        }
    }

    func keep(consent state: UInt8) -> Bool {
        guard let category = Self.logNames.last?.category, let state = ConsentState(rawValue: state) else {
            return false
        }
        return attempt { () throws(QueueError) in try queue.keep(consent: [category: state]) }
    }

    var consent: UInt8? {
        guard let category = Self.logNames.last?.category, case .whole(let states) = queue.recovery.consent
        else { return nil }
        return states[category]?.rawValue ?? 0
    }

    /// True where a call came to its end and did not fail.
    private func attempt(_ body: () throws(QueueError) -> Void) -> Bool {
        do throws(QueueError) { try body() } catch { return false }
        return !disk.hasCrashed
    }

    func squeeze(_ log: Int) -> Set<Int> {
        roomBefore = disk.capacity
        disk.capacity = min(disk.capacity, disk.usedBytes + Int.random(in: 0..<4, using: &random) * 1_024)
        return []
    }

    func relieve() {
        disk.capacity = roomBefore
        roomBefore = 1 << 40
    }

    /// The disk's capacity while nothing is squeezed, bytes.
    private var roomBefore = 1 << 40

    func use(_ destinations: [Int]) { queue.use(destinations: destinations.map { Self.destinationNames[$0] }) }

    func synchroniseCursors() -> Bool {
        attempt { () throws(QueueError) in try queue.synchroniseCursors() }
    }

    func housekeep(slices: Int, at now: Int) {
        for _ in 0..<slices {
            guard !disk.hasCrashed, let next = queue.housekeep(at: clock, age: Self.age(now)) else { return }
            clock = max(clock + .milliseconds(300), min(next, clock + .seconds(2)))
        }
    }

    func accepted(_ log: Int) -> Int {
        if acceptedCounts.isEmpty {
            let logs = queue.snapshot.logs
            acceptedCounts = Self.logNames.map { name in Int(logs.first { $0.name == name }?.accepted ?? 0) }
        }
        return acceptedCounts[log]
    }

    /// How many events each log has accepted; empty where that may have changed.
    private var acceptedCounts: [Int] = []

    func oldest(_ log: Int) -> Int {
        Int(queue.snapshot.logs.first { $0.name == Self.logNames[log] }?.oldest ?? 1)
    }

    func cursor(_ destination: Int, _ log: Int) -> CursorView? {
        let name = Self.logNames[log]
        guard let state = queue.cursor(destination: Self.destinationNames[destination], log: name) else { return nil }
        return CursorView(
            low: Int(state.low), origin: Int(state.origin), ledger: state.ledger,
            queued: accepted(log) + 1 - Int(state.low))
    }

    func letters(_ destination: Int, _ log: Int) -> Set<Int> {
        let name = Self.logNames[log]
        let listed = queue.deadLetters(of: Self.destinationNames[destination], limit: .max)
        return Set(listed.lazy.filter { $0.name.log == name }.map { Int($0.name.sequence) })
    }

    func takeMoves() -> [Move] {
        queue.takeMoves().compactMap { move in
            guard let destination = Self.destinationNames.firstIndex(of: move.destination),
                let log = Self.logNames.firstIndex(of: move.log)
            else { return nil }
            return Move(
                destination: destination, log: log, fate: move.kind, count: Int(move.count), low: Int(move.low))
        }
    }

    func takeNamed() -> [(log: Int, sequences: ClosedRange<Int>)] {
        let found = isFreshlyStarted ? queue.recovery.damages : []
        isFreshlyStarted = false
        return (found + queue.takeDamages()).compactMap { damage in
            guard let range = damage.sequences, let log = Self.logNames.firstIndex(of: damage.log) else { return nil }
            return (log, Int(range.lowerBound)...Int(range.upperBound))
        }
    }

    /// Whether what the start found has not been told yet.
    private var isFreshlyStarted = false

    func known() -> [(log: Int, sequence: Int, token: Int, epoch: UInt64)] {
        queue.recovery.keyed.compactMap { keyed in
            guard let log = Self.logNames.firstIndex(of: keyed.log) else { return nil }
            return (log, Int(keyed.id.sequence), Int(keyed.key.low), keyed.id.epoch)
        }
    }

    /// A file of which a fault has left nothing that proves it to be a segment is left alone for whoever looks into it.
    func leftovers() -> String? {
        let strays = Set(queue.recovery.strays + queue.takeStrays()).filter(disk.isInjured)
        for name in Self.logNames {
            let files = disk.files.filter {
                $0.hasPrefix("logs/" + name.text + "/") && $0.hasSuffix(".segment") && !strays.contains($0)
            }
            if files.count > 3 { return "\(files.count) segments of \(name.text) stay though all is settled" }
        }
        return nil
    }
}

/// The bytes of events: all of them follow from the number.
enum EventBytes {
    private static let start: [UInt8] = Array("{\"n\":".utf8)
    private static let middle: [UInt8] = Array(",\"x\":\"".utf8)
    private static let end: [UInt8] = Array("\"}".utf8)
    /// No record is longer, bytes.
    private static let longest = 1_024

    static func make(_ token: Int) -> [UInt8] {
        var bytes = start
        bytes.append(decimal: token)
        bytes += middle
        bytes.append(contentsOf: repeatElement(fill(token), count: fillCount(token)))
        return bytes + end
    }

    private static func fill(_ token: Int) -> UInt8 { UInt8(ascii: "a") + UInt8(token % 26) }

    private static func fillCount(_ token: Int) -> Int {
        let mixed = Int(UInt32(truncatingIfNeeded: UInt64(token) &* 0x9E37_79B9_7F4A_7C15 >> 32) >> 1)
        return mixed % 100 < 12 ? 900 : mixed % 200
    }

    /// The number of an event that is whole; 0 for any other bytes.
    static func token(of bytes: [UInt8], in range: Range<Int>) -> Int {
        guard let token = token(of: bytes, at: range.lowerBound) else { return 0 }
        let letters = range.upperBound - end.count - fillCount(token)..<range.upperBound - end.count
        let number = letters.lowerBound - middle.count
        var digits: [UInt8] = []
        digits.append(decimal: token)
        guard number == range.lowerBound + start.count + digits.count,
            bytes[range.lowerBound + start.count..<number].elementsEqual(digits),
            bytes[number..<letters.lowerBound].elementsEqual(middle),
            bytes[letters.upperBound..<range.upperBound].elementsEqual(end)
        else { return 0 }
        let letter = fill(token)
        for index in letters where bytes[index] != letter { return 0 }
        return token
    }

    private static func token(of bytes: [UInt8], at offset: Int) -> Int? {
        guard offset + start.count < bytes.count else { return nil }
        for index in 0..<start.count where bytes[offset + index] != start[index] { return nil }
        var token = 0
        var place = offset + start.count
        while place < bytes.count, (48...57).contains(bytes[place]), token < 1 << 40 {
            token = token * 10 + Int(bytes[place] - 48)
            place += 1
        }
        return place > offset + start.count ? token : nil
    }

    /// Adds the events of which a part stands in `range` of a segment's bytes, and what was purged there.
    static func collect(_ injury: inout Injury, in bytes: [UInt8], _ range: Range<Int>) {
        let first = max(0, range.lowerBound - longest) / 8 * 8
        for index in stride(from: first, to: min(range.upperBound, bytes.count - RecordLayout.headerSize), by: 8) {
            let length = Int(bytes.loadLittleEndian(at: index + 4, as: UInt32.self))
            guard index + RecordLayout.headerSize + length > range.lowerBound, length < longest else { continue }
            if let token = token(of: bytes, at: index + RecordLayout.headerSize) {
                injury.tokens.insert(token)
            } else if bytes.loadLittleEndian(at: index + 28, as: UInt32.self) == 1 << 31 {
                let sequence = bytes.loadLittleEndian(at: index + 8, as: UInt64.self)
                if (1..<1 << 20).contains(sequence) { injury.holes.insert(Int(sequence)) }
            }
        }
        injury.most = injury.tokens.count
    }
}
