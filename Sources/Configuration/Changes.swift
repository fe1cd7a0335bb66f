/// A setting that differs between two configurations.
package struct ConfigurationChange: Sendable, Equatable, CustomStringConvertible {
    /// What differs.
    package enum Kind: Sendable, Equatable {
        /// Values as a file would have them, secrets left out.
        case value(from: String, to: String)
        case destinationAdded
        case destinationRemoved
    }

    /// For a destination as a whole, with the key `Destination`.
    package let setting: SettingName
    package let kind: Kind
    /// True where a reload cannot take it.
    package let needsRestart: Bool

    /// `[Destination "main"] BatchMaxEvents: 100 -> 500`.
    package var description: String {
        let tail = needsRestart ? " (after a restart)" : ""
        switch kind {
        case .value(let from, let to): return "\(setting): \(from) -> \(to)" + tail
        case .destinationAdded: return "destination \(setting.instance ?? "") added" + tail
        case .destinationRemoved: return "destination \(setting.instance ?? "") removed" + tail
        }
    }
}
