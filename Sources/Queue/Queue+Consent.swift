package import Gates
internal import Posix

/// The states of consent that operators have set, in a file of their own (rule 17).
extension Queue {
    /// Where a copy goes of a file that cannot be read whole.
    private static let unreadPath = Quarantine.folder + "/consent"

    /// Keeps states of consent beside those kept before; durable when it returns.
    ///
    /// - Throws: `failed`; then those of before stand, but a crash may yet bring the new ones.
    package func keep(consent states: [String: ConsentState]) throws(QueueError) {
        let all = consentStates.merging(states) { $1 }
        guard all != consentStates || isConsentLost || isConsentUnsure else { return }
        // What is on hold for want of its state must not be forgotten by the file that comes next.
        if isConsentLost { consentStates.merge(states.filter { $0.value != .allow }) { $1 } }
        try completeStart()
        do throws(QueueError) {
            try write(consent: all)
        } catch  where error.isLackOfRoom {
            // It must be possible to deny on a full disk.
            for log in logsInOrder where log.spare != nil { dropSpare(of: log) }
            try write(consent: all)
        }
        consentStates = all
    }

    /// Has the file that says which states were set be there before the first log of a category: where it is missing
    /// beside one, it is lost.
    func prepareConsent(for log: LogName) throws(QueueError) {
        guard log.category != nil, !hasConsent, !isConsentLost else { return }
        try write(consent: consentStates)
    }

    private func write(consent states: [String: ConsentState]) throws(QueueError) {
        isConsentUnsure = true
        try storage.unlinkIfThere(ConsentRecord.newPath)
        try attempt(.write, ConsentRecord.newPath) { () throws(Errno) in
            let bytes = ConsentRecord.encode(states, seal: identity.seal)
            let file = try storage.open(ConsentRecord.newPath, .createNew)
            try file.write(bytes, in: 0..<bytes.count, at: 0)
            try file.synchroniseData()
            if !unreadConsent.isEmpty { try setAside(unreadConsent) }
            try storage.rename(ConsentRecord.newPath, to: ConsentRecord.path)
            hasConsent = true
            try storage.synchroniseDirectory("")
        }
        (isConsentLost, isConsentUnsure, unreadConsent) = (false, false, [])
    }

    private func setAside(_ unread: [UInt8]) throws(Errno) {
        try storage.createDirectoryIfMissing(Quarantine.folder)
        try storage.open(Self.unreadPath, .create).write(unread, in: 0..<unread.count, at: 0)
    }

    /// Reads the states at the start; `used` are the logs of which there is a trace.
    func recoverConsent(isThere: Bool, used: [LogName]) {
        let categories = used.compactMap(\.category)
        var found = KeptConsent.lost(named: [])
        if isThere {
            found = readConsent()
        } else if categories.isEmpty, unlisted == nil {
            found = .whole([:])
        }
        if case .lost(let named) = found { found = .lost(named: named.union(categories)) }
        switch found {
        case .whole(let states): consentStates = states
        case .lost(let named):
            isConsentLost = true
            consentStates[Consent.others] = .hold
            for category in named { consentStates[category] = .hold }
        }
        recovery.consent = found
    }

    private func readConsent() -> KeptConsent {
        hasConsent = true
        var bytes: [UInt8] = []
        do throws(QueueError) {
            try attempt(.read, ConsentRecord.path) { () throws(Errno) in
                _ = try storage.open(ConsentRecord.path, .readOnly).read(
                    upTo: ConsentRecord.size + 1, at: 0, into: &bytes)
                // A run that was killed may have given it its name and no more.
                try storage.synchroniseDirectory("")
            }
        } catch {
            recovery.note(error)
        }
        let found = ConsentRecord.read(bytes, seal: identity.seal)
        if case .lost = found { unreadConsent = bytes }
        return found
    }
}
