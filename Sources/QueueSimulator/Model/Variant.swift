/// A rule broken on purpose: each looks reasonable, and the model must find each.
package enum Variant: CaseIterable, Sendable {
    case unlinkBeforeCursorsAreSynced
    case cursorBeforeDeadLetter
    case countersInAFileOfTheirOwn
    case lateAcknowledgementWins
    case appendAfterFailedSync
    case receiptOfPurgeBeforeRename
    case trustLengthOfDamagedHeader
    case answerBeforeNameIsSynced
    case recommitWithoutLastBatch
    case nameBeforeRecommitIsSynced
    case overwriteDurableSlot
    case recoverWithoutSync
    case stopAtFirstDamage
    case restartAtNewest
    case purgeForgetsBatchInMemory
    case cursorWinsOverDeadLetter
    case answerBeforeSync
}
