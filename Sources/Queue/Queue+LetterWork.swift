internal import Time

/// Which dead letters an order is about.
package enum MeantLetters: Sendable {
    case named([DeadLetterName])
    /// All of some destinations.
    case all(of: Set<String>)

    /// Whose they are, in order.
    package var destinations: [String] {
        switch self {
        case .named(let names): Set(names.map(\.destination)).sorted()
        case .all(let destinations): destinations.sorted()
        }
    }

    /// Those of destinations for which `isWanted` is true.
    package func filter(_ isWanted: (String) -> Bool) -> MeantLetters {
        switch self {
        case .named(let names): .named(names.filter { isWanted($0.destination) })
        case .all(let destinations): .all(of: destinations.filter(isWanted))
        }
    }
}

/// What is done to dead letters a slice at a time, so that commits and reads go on between the slices.
package struct LetterWork {
    /// How many letters were dropped so far, or are to be sent again.
    package fileprivate(set) var done: UInt64 = 0
    fileprivate let isRetry: Bool
    fileprivate var left: [(key: Queue.CursorKey, sequences: ArraySlice<UInt64>)]

    /// The next letter; nil where all were taken.
    fileprivate mutating func next() -> DeadLetterName? {
        while let (key, sequences) = left.last {
            if let sequence = sequences.first {
                left[left.count - 1].sequences.removeFirst()
                return DeadLetterName(destination: key.destination, log: key.log, sequence: sequence)
            }
            left.removeLast()
        }
        return nil
    }
}

extension Queue {
    /// The destinations that have dead letters.
    package var destinationsWithLetters: Set<String> { Set(letterKeys().map(\.destination)) }

    /// A slice takes no more new letters in hand after so long.
    private static let sliceOfLetters = Duration.milliseconds(20)

    /// Has dead letters thrown away by `advance`, which counts them as purged; from now on nobody sees or sends them.
    ///
    /// Those that their cursor has not passed yet stay, as do those that are not there.
    package func beginDrop(_ letters: MeantLetters) -> LetterWork {
        remove(numbers(of: letters) { [self] key, letter in letter.stage.isShown && hasPassed(letter, key) })
    }

    /// Has dead letters that wait sent again, by `advance`.
    package func beginRetry(_ letters: MeantLetters) -> LetterWork {
        let wanted = numbers(of: letters) { [self] key, letter in letter.stage == .waiting && hasPassed(letter, key) }
        return LetterWork(isRetry: true, left: wanted)
    }

    /// Does a slice of work; true where it was the last.
    ///
    /// After each slice the ledger is as exact as before, and durable.
    ///
    /// - Throws: `failed`; then the letters that are left are as they were before the work.
    package func advance(_ work: inout LetterWork) throws(QueueError) -> Bool {
        do throws(QueueError) {
            try completeStart()
            try work.isRetry ? retrySlice(&work) : removeSlice(&work)
        } catch {
            if !work.isRetry { while let name = work.next() { putBack(name) } }
            throw error
        }
        return work.left.allSatisfy(\.sequences.isEmpty)
    }

    /// Does all of the work; how many letters it has dealt with.
    func finish(_ work: inout LetterWork) throws(QueueError) -> UInt64 {
        while try !advance(&work) {}
        return work.done
    }

    /// Removes letters durably, whatever their stage.
    ///
    /// One that its cursor has not passed leaves its event as it was before the letter.
    func remove(_ names: [DeadLetterName]) throws(QueueError) {
        var work = remove(numbers(of: .named(names)) { $1.stage.isCounted })
        _ = try finish(&work)
    }

    /// Has letters removed by `advance`.
    func remove(_ letters: [(key: CursorKey, sequences: ArraySlice<UInt64>)]) -> LetterWork {
        for (key, sequences) in letters {
            for sequence in sequences {
                let name = DeadLetterName(destination: key.destination, log: key.log, sequence: sequence)
                guard let stage = deadLetters.stage(of: name), stage.isShown else { continue }
                deadLetters.set(name, to: .leaving(wasRetried: stage == .retried))
            }
        }
        return LetterWork(isRetry: false, left: letters)
    }

    /// True where the cursor of a letter has passed it, or there is none.
    func hasPassed(_ letter: LetterShelf.Letter, _ key: CursorKey) -> Bool {
        cursors[key].map { letter.sequence < $0.state.low } ?? true
    }

    /// The numbers of those letters of which `isWanted` is true, by destination and log, the last of these first.
    func numbers(
        of letters: MeantLetters, where isWanted: (CursorKey, LetterShelf.Letter) -> Bool
    ) -> [(key: CursorKey, sequences: ArraySlice<UInt64>)] {
        switch letters {
        case .named(let names):
            Dictionary(grouping: Set(names), by: CursorKey.init).sorted { $0.value[0] > $1.value[0] }
                .map { key, names in
                    let found = names.map(\.sequence).sorted().filter { sequence in
                        deadLetters.letters(of: key, from: sequence).first.map {
                            $0.sequence == sequence && isWanted(key, $0)
                        } ?? false
                    }
                    return (key, found[...])
                }
        case .all(let destinations):
            letterKeys().reversed().filter { destinations.contains($0.destination) }.map { key in
                (key, deadLetters.letters(of: key, from: 0).filter { isWanted(key, $0) }.map(\.sequence)[...])
            }
        }
    }

    private func removeSlice(_ work: inout LetterWork) throws(QueueError) {
        // What was delivered must be counted first: after a crash it is told from what is removed by its number.
        try finishLetters()
        var removed: UInt64 = 0
        var failure: QueueError?
        takeSlice(&work) { name in
            // Other work may have removed it, or, having failed, put it back.
            guard deadLetters.stage(of: name)?.isCounted ?? false else { return true }
            do throws(QueueError) {
                try deadLetters.unlink(name)
                deadLetters.set(name, to: .unlinked)
                removed += 1
            } catch {
                putBack(name)
                failure = error
            }
            return failure == nil
        }
        try twice(finishLetters)
        work.done += removed
        if let failure { throw failure }
    }

    private func putBack(_ name: DeadLetterName) {
        guard case .leaving(let wasRetried) = deadLetters.stage(of: name) else { return }
        deadLetters.set(name, to: wasRetried ? .retried : .waiting)
    }

    private func retrySlice(_ work: inout LetterWork) throws(QueueError) {
        // A crash must not have their cursor wait for them once more.
        try synchroniseCursors()
        var renamed: [DeadLetterName] = []
        var failure: QueueError?
        takeSlice(&work) { name in
            guard deadLetters.stage(of: name) == .waiting else { return true }
            do throws(QueueError) {
                try deadLetters.rename(name, from: .letter, to: .retry)
                deadLetters.set(name, to: .retried)
                renamed.append(name)
            } catch {
                failure = error
            }
            return failure == nil
        }
        let folders = Set(renamed.map(\.folder)).sorted()
        try twice { () throws(QueueError) in try deadLetters.synchronise(folders) }
        work.done += UInt64(renamed.count)
        if let failure { throw failure }
    }

    /// Takes letters in hand until `body` is false, there are enough, or they have taken long enough.
    private func takeSlice(_ work: inout LetterWork, _ body: (DeadLetterName) -> Bool) {
        let end = clock() + Self.sliceOfLetters
        for _ in 0..<options.lettersPerSlice {
            guard let name = work.next(), body(name), clock() < end else { return }
        }
    }
}
