/// What may meet an order about consent; a simulation in which one of these never comes up is blind to it.
package enum ConsentCase: String, CaseIterable, Sendable {
    /// A category of which some destination has events is denied, or purged.
    case categoryDenied, categoryPurged
    /// An event that some destination has is purged.
    case eventPurged
    /// An event of the category, or the event, is on its way to a collector when the order comes.
    case categoryInFlight, eventInFlight
    /// It comes to the collector after its purge.
    case arrivedLate
    /// The category has dead letters, or the event is one.
    case categoryWithLetters, eventWithLetter
    /// An event is refused at the door, or while it waits for the next commit.
    case refusedAtTheDoor, refusedWhileOpen
    /// The order is answered with an error.
    case answeredWithError
    /// What an error has kept from being purged is purged later.
    case purgedAfterError
    /// The daemon dies between an order and its answer.
    case diedBetween
    /// It dies between the durable state and the end of the purge, which the next start makes good.
    case leftToTheStart
}
