/// All settings of the daemon, each with its default where the files say nothing (INTERFACE, "Configuration").
package struct Configuration: Sendable {
    package var intake = IntakeSection()
    package var control = ControlSection()
    package var queue = QueueSection()
    package var reachability = ReachabilitySection()
    package var consent = ConsentSection()
    /// In the order of the file, at most 16.
    package var destinations: [DestinationSection] = []
    /// Where each setting that the files make was made, the last place last.
    package var origins: [SettingName: [Origin]] = [:]

    /// The defaults.
    package init() {}

    /// The most destinations there may be.
    package static let maximumDestinations = 16
}

/// The full name of a setting.
package struct SettingName: Hashable, Sendable, CustomStringConvertible {
    package let section: String
    /// The name in quotes after the section's, where it has one.
    package let instance: String?
    package let key: String

    /// The setting `key` of a section.
    package init(section: String, instance: String? = nil, key: String) {
        self.section = section
        self.instance = instance
        self.key = key
    }

    /// `[Queue] MaxSize`, `[Destination "main"] URL`.
    package var description: String {
        guard let instance else { return "[\(section)] \(key)" }
        return "[\(section) \"\(instance)\"] \(key)"
    }
}
