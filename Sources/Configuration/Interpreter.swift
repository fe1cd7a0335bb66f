internal import Bytes

/// Builds a configuration from statements, one file after the other.
struct Interpreter {
    /// The section that assignments go to.
    private enum Target {
        /// No section began yet.
        case none
        /// An unknown, malformed or refused section: what is in it is passed over.
        case skipped
        case intake, control, queue, reachability, consent
        case category(Int)
        case destination(Int)
    }

    private(set) var configuration = Configuration()
    /// Where each destination's first section begins.
    private(set) var destinationOrigins: [Origin] = []
    private var target = Target.none

    static let sections = ["Intake", "Control", "Queue", "Reachability", "Consent", "Destination"]
    /// Sections that are told apart by a name in quotes.
    static let named = ["Consent", "Destination"]
    static let maximumCategories = 64

    mutating func run(_ statements: [Statement], problems: inout ProblemList) {
        target = .none
        for statement in statements {
            switch statement.content {
            case .section(let name, let instance):
                target = section(name, instance, at: statement.origin, &problems)
            case .malformedSection: target = .skipped
            case .assignment(let key, let value, let valueOrigin):
                assign(
                    Assignment(key: key, value: value, keyOrigin: statement.origin, valueOrigin: valueOrigin), &problems
                )
            }
        }
    }

    private mutating func section(
        _ name: String, _ instance: String?, at origin: Origin, _ problems: inout ProblemList
    ) -> Target {
        guard Self.sections.contains(name) else {
            let hint = nearest(to: name, among: Self.sections).map { "; did you mean [\($0)]?" } ?? ""
            problems.add(.warning, at: origin, "unknown section [\(name)]: what is in it has no effect\(hint)")
            return .skipped
        }
        if let instance {
            guard Self.named.contains(name) else {
                problems.add(.error, at: origin, "[\(name)] takes no name")
                return .skipped
            }
            return named(name, instance, at: origin, &problems)
        }
        switch name {
        case "Intake": return .intake
        case "Control": return .control
        case "Queue": return .queue
        case "Reachability": return .reachability
        case "Consent": return .consent
        default:
            problems.add(.error, at: origin, "a destination needs a name: [Destination \"main\"]")
            return .skipped
        }
    }

    private mutating func named(
        _ section: String, _ name: String, at origin: Origin, _ problems: inout ProblemList
    ) -> Target {
        guard name.isShortName else {
            problems.add(.error, at: origin, "the name '\(name)' is not 1 to 32 of a-z, 0-9 and '-'")
            return .skipped
        }
        if section == "Consent" {
            if let index = configuration.consent.categories.firstIndex(where: { $0.name == name }) {
                return .category(index)
            }
            guard configuration.consent.categories.count < Self.maximumCategories else {
                problems.add(.error, at: origin, "more than \(Self.maximumCategories) consent categories")
                return .skipped
            }
            configuration.consent.categories.append(ConsentSection.Category(name: name))
            return .category(configuration.consent.categories.count - 1)
        }
        if let index = configuration.destinations.firstIndex(where: { $0.name == name }) { return .destination(index) }
        guard configuration.destinations.count < Configuration.maximumDestinations else {
            problems.add(.error, at: origin, "more than \(Configuration.maximumDestinations) destinations")
            return .skipped
        }
        configuration.destinations.append(DestinationSection(name: name))
        destinationOrigins.append(origin)
        return .destination(configuration.destinations.count - 1)
    }

    private mutating func assign(_ assignment: Assignment, _ problems: inout ProblemList) {
        let taken: SettingName?
        switch target {
        case .none:
            problems.add(
                .error, at: assignment.keyOrigin, "the \(assignment.shownKey) stands before the first [Section]")
            taken = nil
        case .skipped: taken = nil
        case .intake:
            taken = assignment.apply(IntakeSection.keys, "Intake", nil, to: &configuration.intake, &problems)
        case .control:
            taken = assignment.apply(ControlSection.keys, "Control", nil, to: &configuration.control, &problems)
        case .queue: taken = assignment.apply(QueueSection.keys, "Queue", nil, to: &configuration.queue, &problems)
        case .reachability:
            taken = assignment.apply(
                ReachabilitySection.keys, "Reachability", nil, to: &configuration.reachability, &problems)
        case .consent:
            taken = assignment.apply(ConsentSection.keys, "Consent", nil, to: &configuration.consent, &problems)
        case .category(let index):
            let name = configuration.consent.categories[index].name
            taken = assignment.apply(
                ConsentSection.Category.keys, "Consent", name, to: &configuration.consent.categories[index], &problems)
        case .destination(let index):
            let name = configuration.destinations[index].name
            taken = assignment.apply(
                DestinationSection.keys, "Destination", name, to: &configuration.destinations[index], &problems)
        }
        guard let taken else { return }
        if assignment.value.isEmpty {
            configuration.origins[taken] = nil
        } else {
            configuration.origins[taken, default: []].append(assignment.valueOrigin)
        }
    }
}
