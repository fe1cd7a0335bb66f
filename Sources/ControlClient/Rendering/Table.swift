/// Columns of text under titles, in plain ASCII.
struct Table {
    private let rows: [[String]]
    private let numbers: Set<Int>

    /// Each row has as many cells as there are titles; the columns of `numbers` stand to the right.
    init(_ titles: [String], _ rows: [[String]], numbers: Set<Int> = []) {
        self.rows = [titles] + rows
        self.numbers = numbers
    }

    /// A line for the titles and one for each row, without blanks at their ends.
    var lines: [String] {
        let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            var line = ""
            for (column, cell) in row.enumerated() {
                let space = String(repeating: " ", count: widths[column] - cell.count)
                line += (column == 0 ? "" : "  ") + (numbers.contains(column) ? space + cell : cell + space)
            }
            while line.last == " " { line.removeLast() }
            return line
        }
    }
}
