internal import Configuration
package import Control
package import Gates

extension ConsentSettings {
    /// What the configuration says of consent.
    init(_ loaded: LoadedSettings) {
        let section = (loaded.configuration ?? Configuration()).consent
        let states = section.categories.compactMap { category in
            category.state.map { (category.name, ConsentState($0)) }
        }
        self.init(
            fallback: ConsentState(section.fallback), states: Dictionary(uniqueKeysWithValues: states),
            named: Set(section.categories.map(\.name)))
    }
}

extension ConsentState {
    /// The state that an operator means.
    package init(_ word: ConsentWord) {
        switch word {
        case .allow: self = .allow
        case .hold: self = .hold
        case .deny: self = .deny
        }
    }

    fileprivate init(_ state: ConsentSection.State) {
        switch state {
        case .allow: self = .allow
        case .hold: self = .hold
        case .deny: self = .deny
        }
    }
}
