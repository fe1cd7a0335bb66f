extension StringProtocol {
    /// The text, a URL without user information, as it may be shown: `?…` stands for a query, which may be a secret.
    package var shownURL: String {
        guard let mark = utf8.firstIndex(of: UInt8(ascii: "?")) else { return String(self) }
        return String(self[...mark]) + "…"
    }
}
