/// The known word nearest to a mistyped one; nil where none is near enough to be meant.
///
/// Near enough is an optimal string alignment distance (insert, delete, replace, swap neighbours) of at most a third of
/// the word's length, and at least 1; letters count alike in both cases.
package func nearest(to word: String, among known: [String]) -> String? {
    let wanted = Array(word.lowercased().utf8.prefix(64))
    let limit = max(1, wanted.count / 3)
    var best: (distance: Int, word: String)?
    for candidate in known {
        // Each byte more or less is a change of its own.
        guard abs(min(candidate.utf8.count, 64) - wanted.count) <= limit else { continue }
        let distance = editDistance(wanted, Array(candidate.lowercased().utf8.prefix(64)))
        if distance <= limit, distance < best?.distance ?? .max { best = (distance, candidate) }
    }
    return best?.word
}

private func editDistance(_ left: [UInt8], _ right: [UInt8]) -> Int {
    var beforeLast: [Int] = []
    var last = Array(0...right.count)
    for (row, byte) in left.enumerated() {
        var current = [row + 1]
        for (column, other) in right.enumerated() {
            var cost = min(last[column + 1], current[column]) + 1
            cost = min(cost, last[column] + (byte == other ? 0 : 1))
            if row > 0, column > 0, byte == right[column - 1], left[row - 1] == other {
                cost = min(cost, beforeLast[column - 1] + 1)
            }
            current.append(cost)
        }
        beforeLast = last
        last = current
    }
    return last[right.count]
}
