/// The letters of one destination and log, in the order of their numbers.
///
/// They mostly come at the end and go from the front, which costs the same however many there are.
struct LetterShelf {
    struct Letter {
        let sequence: UInt64
        var stage: DeadLetterStore.Stage
        /// What its file takes on disk, bytes.
        let room: Int
    }

    private(set) var letters: ArraySlice<Letter> = []
    /// Those to be sent again, in order.
    private(set) var retried: ArraySlice<UInt64> = []

    /// Letters from a number on.
    func letters(from sequence: UInt64) -> ArraySlice<Letter> {
        letters[letters.place { $0.sequence < sequence }...]
    }

    subscript(sequence: UInt64) -> Letter? { index(of: sequence).map { letters[$0] } }

    private func index(of sequence: UInt64) -> Int? {
        let index = letters.place { $0.sequence < sequence }
        return index < letters.endIndex && letters[index].sequence == sequence ? index : nil
    }

    /// Puts a letter where there is none of its number.
    mutating func enter(_ letter: Letter) {
        letters.insert(letter, at: letters.place { $0.sequence < letter.sequence })
        if letter.stage == .retried { noteRetried(letter.sequence) }
    }

    /// False where there is no such letter.
    mutating func set(_ sequence: UInt64, to stage: DeadLetterStore.Stage) -> Bool {
        guard let index = index(of: sequence) else { return false }
        if letters[index].stage == .retried { forgetRetried(sequence) }
        letters[index].stage = stage
        if stage == .retried { noteRetried(sequence) }
        return true
    }

    mutating func remove(_ sequence: UInt64) -> Letter? {
        guard let index = index(of: sequence) else { return nil }
        if letters[index].stage == .retried { forgetRetried(sequence) }
        return letters.take(at: index)
    }

    private mutating func noteRetried(_ sequence: UInt64) {
        retried.insert(sequence, at: retried.place { $0 < sequence })
    }

    private mutating func forgetRetried(_ sequence: UInt64) {
        _ = retried.take(at: retried.place { $0 < sequence })
    }
}

extension ArraySlice {
    /// The first place of which `isBefore` is not true; it is true of none behind one of which it is not.
    fileprivate func place(where isBefore: (Element) -> Bool) -> Int {
        if let last, isBefore(last) { return endIndex }
        var (low, high) = (startIndex, endIndex)
        while low < high {
            let middle = low + (high - low) / 2
            if isBefore(self[middle]) { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Removes an element; the first one without moving the others.
    fileprivate mutating func take(at index: Int) -> Element {
        index == startIndex ? removeFirst() : remove(at: index)
    }
}
