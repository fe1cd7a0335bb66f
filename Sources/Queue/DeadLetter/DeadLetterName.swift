internal import Bytes

/// Where a dead letter is kept: `dead/<destination>/<log>-<sequence number, 20 digits>.letter`.
package struct DeadLetterName: Hashable, Sendable {
    package let destination: String
    package let log: LogName
    package let sequence: UInt64

    package init(destination: String, log: LogName, sequence: UInt64) {
        self.destination = destination
        self.log = log
        self.sequence = sequence
    }

    /// How far a letter has come, as the end of its file's name says.
    enum State: String, CaseIterable {
        /// It waits for somebody to look at it.
        case letter
        /// It is to be sent again.
        case retry
        /// It was delivered, which is perhaps not counted yet.
        case done
    }

    var folder: String { DeadLetterStore.folder + "/" + destination }

    /// Its file in a state.
    func path(_ state: State) -> String { stem + "." + state.rawValue }

    /// The file in which it is written before it has its name.
    var newPath: String { stem + Self.newSuffix }
    static let newSuffix = ".new"

    private var stem: String {
        var digits: [UInt8] = []
        digits.append(decimal: sequence)
        let zeros = String(repeating: "0", count: 20 - digits.count)
        return folder + "/" + log.text + "-" + zeros + digits.text
    }

    /// Reads the name of a file in the folder of a destination; nil for anything else.
    static func read(_ text: String, of destination: String) -> (name: DeadLetterName, state: State)? {
        let bytes = Array(text.utf8)
        guard let dot = bytes.lastIndex(of: UInt8(ascii: ".")), dot > 21, bytes[dot - 21] == UInt8(ascii: "-"),
            let state = State(rawValue: Array(bytes[(dot + 1)...]).text),
            let log = LogName(text: Array(bytes[..<(dot - 21)]).text),
            let sequence = UInt64(Array(bytes[dot - 20..<dot]).text),
            (1...SegmentName.maximumSequence).contains(sequence)
        else { return nil }
        let name = DeadLetterName(destination: destination, log: log, sequence: sequence)
        return name.path(state) == name.folder + "/" + text ? (name, state) : nil
    }
}

extension DeadLetterName: Comparable {
    package static func < (left: DeadLetterName, right: DeadLetterName) -> Bool {
        (left.destination, left.log.text, left.sequence) < (right.destination, right.log.text, right.sequence)
    }
}

extension Queue.CursorKey {
    /// The destination and log of a letter.
    init(_ name: DeadLetterName) { self.init(destination: name.destination, log: name.log) }
}
