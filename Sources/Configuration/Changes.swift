/// A setting that differs between two configurations.
package struct ConfigurationChange: Sendable, Equatable, CustomStringConvertible {
    /// What differs.
    package enum Kind: Sendable, Equatable {
        /// Values as a file would have them, secrets left out.
        case value(from: String, to: String)
        case destinationAdded
        case destinationRemoved
    }

    /// For a destination as a whole, with the key `URL`.
    package let setting: SettingName
    package let kind: Kind
    /// True where a reload cannot take it.
    package let needsRestart: Bool

    /// `[Destination "main"] BatchMaxEvents: 100 -> 500`.
    package var description: String {
        switch kind {
        case .value(let from, let to):
            let change = from == to ? "changed" : "\(from.isEmpty ? "(none)" : from) -> \(to.isEmpty ? "(none)" : to)"
            return "\(setting): \(change)" + (needsRestart ? " (needs a restart)" : "")
        case .destinationAdded: return "destination \(setting.instance ?? "") added"
        case .destinationRemoved: return "destination \(setting.instance ?? "") removed"
        }
    }
}

extension Configuration {
    /// What differs in `new`, in the order of INTERFACE; what needs a restart says so.
    package static func changes(from old: Configuration, to new: Configuration) -> [ConfigurationChange] {
        var changes: [ConfigurationChange] = []
        compare(IntakeSection.keys, "Intake", nil, old.intake, new.intake, &changes)
        compare(ControlSection.keys, "Control", nil, old.control, new.control, &changes)
        compare(QueueSection.keys, "Queue", nil, old.queue, new.queue, &changes)
        compare(ReachabilitySection.keys, "Reachability", nil, old.reachability, new.reachability, &changes)
        compare(ConsentSection.keys, "Consent", nil, old.consent, new.consent, &changes)
        let categories = old.consent.categories.map(\.name)
        let others = new.consent.categories.map(\.name).filter { !categories.contains($0) }
        for name in categories + others {
            let state = { (section: ConsentSection) in
                section.categories.first { $0.name == name } ?? ConsentSection.Category(name: name)
            }
            compare(
                ConsentSection.Category.keys, "Consent", name, state(old.consent), state(new.consent), &changes)
        }
        for destination in old.destinations {
            if let now = new.destinations.first(where: { $0.name == destination.name }) {
                compare(DestinationSection.keys, "Destination", now.name, destination, now, &changes)
            } else {
                changes.append(whole(destination, .destinationRemoved))
            }
        }
        for destination in new.destinations where !old.destinations.contains(where: { $0.name == destination.name }) {
            changes.append(whole(destination, .destinationAdded))
        }
        return changes
    }

    /// What differs in `new` from what is in force: where a reload cannot take it that of `first`, the configuration
    /// of the start, and otherwise that of `old`, the one read last.
    package static func changes(
        from old: Configuration, startedWith first: Configuration, to new: Configuration
    ) -> [ConfigurationChange] {
        changes(from: old, to: new).filter { !$0.needsRestart } + changes(from: first, to: new).filter(\.needsRestart)
    }

    private static func whole(
        _ destination: DestinationSection, _ kind: ConfigurationChange.Kind
    ) -> ConfigurationChange {
        ConfigurationChange(
            setting: SettingName(section: "Destination", instance: destination.name, key: "URL"), kind: kind,
            needsRestart: false)
    }

    private static func compare<Section>(
        _ keys: [Key<Section>], _ name: String, _ instance: String?, _ old: Section, _ new: Section,
        _ changes: inout [ConfigurationChange]
    ) {
        for key in keys where !key.isEqual(old, new) {
            changes.append(
                ConfigurationChange(
                    setting: SettingName(section: name, instance: instance, key: key.name),
                    kind: .value(
                        from: key.show(old).joined(separator: ", "), to: key.show(new).joined(separator: ", ")),
                    needsRestart: key.needsRestart))
        }
    }
}
