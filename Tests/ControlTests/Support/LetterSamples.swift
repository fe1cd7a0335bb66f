import Control
import Time

extension DeadLetterReport {
    /// One whose collector's words are hostile.
    static let example = DeadLetterReport(
        id: "00000000000000aa-7", destination: "collector", log: "normal", status: 400, detail: "no \u{1B}[31m",
        attempts: 1, at: WallTime(milliseconds: 1_795_849_500_000), acceptedAt: nil, isRetried: false,
        event: Array(#"{"n":1}"#.utf8))
}
