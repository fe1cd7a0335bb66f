internal import Control

/// Who waits for the load under way, and who for the one after it.
///
/// A load answers only those who asked before it began: it may have read a file already when another asks.
struct ReloadQueue {
    /// So many may wait for the next load; more are refused, as a load that hangs answers nobody.
    private static let limit = 64

    private var isUnderWay = false
    private var isWanted = false
    private var current: [(ReloadVerdict) -> Void] = []
    private var following: [(ReloadVerdict) -> Void] = []

    /// Asks for a load that begins from now on, and tells `done` what came of it; false where too many wait.
    mutating func ask(_ done: ((ReloadVerdict) -> Void)?) -> Bool {
        guard let done else {
            isWanted = true
            return true
        }
        guard following.count < Self.limit else { return false }
        isWanted = true
        following.append(done)
        return true
    }

    /// True where a load is to begin now; it answers all who wait.
    mutating func begin() -> Bool {
        guard isWanted, !isUnderWay else { return false }
        isUnderWay = true
        isWanted = false
        current = following
        following = []
        return true
    }

    /// Ends the load under way; whom it answers.
    mutating func end() -> [(ReloadVerdict) -> Void] {
        isUnderWay = false
        let answered = current
        current = []
        return answered
    }
}
