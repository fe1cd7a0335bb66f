/// `[Consent]` and `[Consent "NAME"]`: which categories of events may leave.
package struct ConsentSection: Sendable, Equatable {
    /// What may be done with events of a category.
    package enum State: String, Sendable, CaseIterable { case allow, hold, deny }

    /// A category's state until an operator sets another.
    package struct Category: Sendable, Equatable {
        /// `[a-z0-9-]{1,32}`.
        package let name: String
        /// nil: the default's.
        package var state: State?
    }

    /// For categories without a state of their own.
    package var fallback: State = .allow
    package var categories: [Category] = []

    /// The defaults.
    package init() {}
}
