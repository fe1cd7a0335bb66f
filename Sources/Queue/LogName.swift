internal import Bytes

/// Which log an event stays in until it is disposed of.
package enum LogName: Hashable, Sendable {
    case urgent
    case normal
    case bulk
    /// The log of a consent category, whose name has 1 to 32 bytes of `[a-z0-9-]`.
    case consent(String)

    /// The lanes, most urgent first.
    package static let lanes: [LogName] = [.urgent, .normal, .bulk]

    /// Its name in files and in status: `normal`, `consent-marketing`.
    package var text: String {
        switch self {
        case .urgent: "urgent"
        case .normal: "normal"
        case .bulk: "bulk"
        case .consent(let category): "consent-" + category
        }
    }

    /// The consent category whose log it is; nil for a lane.
    package var category: String? {
        if case .consent(let category) = self { category } else { nil }
    }

    /// Reads what `text` wrote; nil for anything else.
    package init?(text: String) {
        if let lane = Self.lanes.first(where: { $0.text == text }) {
            self = lane
            return
        }
        guard text.hasPrefix("consent-") else { return nil }
        let category = text.dropFirst("consent-".count)
        guard category.isShortName else { return nil }
        self = .consent(String(category))
    }
}

/// What a full queue makes of logs (rule 15).
extension LogName {
    /// What is given up for new events goes from the least on.
    var urgency: Int {
        switch self {
        case .bulk: 0
        case .consent: 1
        case .normal: 2
        case .urgent: 3
        }
    }

    /// The lane with which it is refused.
    var lane: LogName { category == nil ? self : .normal }

    /// How far it may fill so many bytes: bulk four fifths, urgent all, others 95 in a hundred.
    func share(of bytes: UInt64) -> UInt64 {
        switch self {
        case .urgent: bytes
        case .normal, .consent: bytes / 100 * 95
        case .bulk: bytes / 100 * 80
        }
    }
}
