extension [String] {
    /// As a sentence names them: `bulk`, `bulk and normal`, `bulk, normal and urgent`.
    package var listed: String {
        guard let last, count > 1 else { return first ?? "" }
        return dropLast().joined(separator: ", ") + " and " + last
    }
}
