internal import Configuration
internal import Reachability

extension LinkTypeRule {
    /// The rules of `InterfaceType=`, in the order of the file.
    static func rules(of loaded: LoadedSettings) -> [LinkTypeRule] {
        (loaded.configuration?.reachability.interfaceTypes ?? []).compactMap { rule in
            ConnectionType(name: rule.type).map { LinkTypeRule(pattern: rule.pattern, type: $0) }
        }
    }
}
