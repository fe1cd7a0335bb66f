extension StringProtocol {
    /// True for 1 to 32 bytes of `[a-z0-9-]`, the names of destinations and of consent categories.
    package var isShortName: Bool {
        (1...32).contains(utf8.count)
            && utf8.allSatisfy { (97...122).contains($0) || (48...57).contains($0) || $0 == 45 }
    }
}
