/// One line of a file, as characters.
struct Line {
    let file: String
    /// From 1.
    let number: Int
    let scalars: [Unicode.Scalar]

    /// The place of a character, or of the end.
    func origin(_ index: Int) -> Origin { Origin(file: file, line: number, column: index + 1) }

    func text(_ range: Range<Int>) -> String {
        var text = ""
        text.unicodeScalars.append(contentsOf: scalars[range])
        return text
    }

    func isBlank(_ index: Int) -> Bool { scalars[index] == " " || scalars[index] == "\t" }

    /// `range` without the blanks at both ends.
    func trimmed(_ range: Range<Int>) -> Range<Int> {
        var (start, end) = (range.lowerBound, range.upperBound)
        while start < end, isBlank(start) { start += 1 }
        while end > start, isBlank(end - 1) { end -= 1 }
        return start..<end
    }
}
