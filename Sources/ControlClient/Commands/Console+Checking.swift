internal import Bytes
internal import Time

/// What an argument must be, checked before the daemon is asked; each is how to end where it is not so.
extension Console {
    /// The name of a consent category.
    func refuse(category: String?) -> ExitStatus? {
        guard let category, !category.isShortName else { return nil }
        complain("a category has 1 to 32 of a-z, 0-9 and -, unlike '\(category)'")
        return .usage
    }

    /// The value of `option`, a span of time above zero and at most `limit`.
    func refuse(span text: String?, of option: String, upTo limit: Duration) -> ExitStatus? {
        guard let text else { return nil }
        guard let span = try? Duration(span: text), span > .zero else {
            complain("\(option) takes a span of time above zero, such as 30s, 5min or 7d, not '\(text)'")
            return .usage
        }
        guard span > limit else { return nil }
        complain("\(option) is at most \(limit.spanText)")
        return .usage
    }
}
