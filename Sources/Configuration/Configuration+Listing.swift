/// A setting as it is in force.
package struct ListedSetting: Sendable, Equatable {
    package let name: SettingName
    /// As a file would have it, secrets left out; of a key that may repeat, each value; none where there is none.
    package let values: [String]
    /// Where each of the values was made; none where it is the default.
    package let origins: [Origin]

    /// Where it was last made; nil where it is the default.
    package var origin: Origin? { origins.last }
}

extension Configuration {
    /// Every setting, in the order of INTERFACE, with its value and where it comes from.
    package var settings: [ListedSetting] {
        var all = list(IntakeSection.keys, "Intake", nil, intake)
        all += list(ControlSection.keys, "Control", nil, control)
        all += list(QueueSection.keys, "Queue", nil, queue)
        all += list(ReachabilitySection.keys, "Reachability", nil, reachability)
        all += list(ConsentSection.keys, "Consent", nil, consent)
        for category in consent.categories {
            all += list(ConsentSection.Category.keys, "Consent", category.name, category)
        }
        for one in destinations { all += list(DestinationSection.keys, "Destination", one.name, one) }
        return all
    }

    private func list<Section>(
        _ keys: [Key<Section>], _ section: String, _ instance: String?, _ values: Section
    ) -> [ListedSetting] {
        keys.map { key in
            let name = SettingName(section: section, instance: instance, key: key.name)
            let shown = key.show(values)
            let places = (origins[name] ?? []).suffix(max(1, shown.count))
            return ListedSetting(name: name, values: shown, origins: Array(places))
        }
    }
}
