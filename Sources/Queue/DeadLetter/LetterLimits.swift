/// What dead letters may take.
struct LetterLimits {
    /// Those of all destinations.
    let all: DeadLetterStore.Use
    /// Those of one.
    let share: DeadLetterStore.Use
    /// Bytes by which all files may grow.
    let room: Int
}

extension Queue {
    /// A tenth of the queue's size, and a number of letters, of which each destination that is configured, or has
    /// letters, has an equal share: one that is dead leaves the others theirs.
    var letterLimits: LetterLimits {
        let all = DeadLetterStore.Use(
            letters: options.maximumLetters, bytes: Int(clamping: options.maximumBytes / 10))
        let sharers = max(1, destinationsWithLetters.union(destinations).count)
        // The longest event can be set apart, however many they are.
        let share = DeadLetterStore.Use(
            letters: max(1, all.letters / sharers),
            bytes: max(all.bytes / sharers, min(all.bytes, options.longestLetter)))
        return LetterLimits(all: all, share: share, room: roomInAll)
    }
}
