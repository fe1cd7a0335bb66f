internal import Posix

extension Inspection {
    /// The dead letters below a cursor, and how many of them it counts.
    private struct PassedLetters {
        let low: UInt64
        let counted: Int
        var whole: [LetterFile] = []
        var damaged: [(file: LetterFile, bytes: Int)] = []
    }

    /// A dead letter's file.
    struct LetterFile {
        let name: DeadLetterName
        let state: DeadLetterName.State
    }

    /// The dead letters of all destinations, by the names of their files.
    func letterFiles() -> [LetterFile] {
        let destinations = (try? storage.names(in: DeadLetterStore.folder)) ?? []
        return destinations.flatMap { destination -> [LetterFile] in
            let names = (try? storage.names(in: DeadLetterStore.folder + "/" + destination)) ?? []
            return names.compactMap { DeadLetterName.read($0, of: destination).map(LetterFile.init) }
        }
    }

    /// Reads a letter, whatever name a daemon has given it meanwhile; nil where it has dropped it; without a letter
    /// where it is damaged.
    func read(_ file: LetterFile) -> (letter: DeadLetter?, bytes: Int)? {
        for state in [file.state] + DeadLetterName.State.allCases {
            var bytes: [UInt8] = []
            do throws(Errno) {
                _ = try storage.open(file.name.path(state), .readOnly)
                    .read(upTo: DeadLetter.maximumBytes + 1, at: 0, into: &bytes)
            } catch {
                if error == .noEntry { continue }
            }
            let letter = DeadLetter(bytes, seal: format.identity.seal)
            return (letter?.name == file.name ? letter : nil, bytes.count)
        }
        return nil
    }

    /// Reads every dead letter.
    func readLetters(_ result: inout Verification) {
        var passed: [Queue.CursorKey: PassedLetters] = [:]
        for cursor in result.cursors {
            let key = Queue.CursorKey(destination: cursor.destination, log: cursor.log)
            passed[key] = PassedLetters(low: cursor.low, counted: Int(clamping: cursor.ledger.dead))
        }
        for file in letterFiles() {
            guard let found = read(file) else { continue }
            result.deadLetters.count += 1
            result.deadLetters.bytes += found.bytes
            if file.state == .retry { result.deadLetters.retried += 1 }
            let key = Queue.CursorKey(destination: file.name.destination, log: file.name.log)
            if file.name.sequence >= passed[key]?.low ?? 0 {
                if found.letter == nil { result.damages.append(damage(.stray, of: file, bytes: found.bytes)) }
            } else if found.letter == nil {
                passed[key]?.damaged.append((file, found.bytes))
            } else if file.state != .done {
                passed[key]?.whole.append(file)
            }
        }
        let keys = passed.keys.sorted { ($0.destination, $0.log.text) < ($1.destination, $1.log.text) }
        result.damages += keys.flatMap { passed[$0].map(damages) ?? [] }
    }

    /// Of letters that their cursor has passed, those beyond what it counts are no letters, or not counted.
    private func damages(of letters: PassedLetters) -> [Verification.Damage] {
        let surplus = max(0, letters.whole.count + letters.damaged.count - letters.counted)
        let damaged = letters.damaged.enumerated().map { index, one in
            damage(index < surplus ? .stray : .corrupted, of: one.file, bytes: one.bytes)
        }
        let uncounted = letters.whole.suffix(max(0, surplus - letters.damaged.count))
        return damaged + uncounted.map { damage(.uncounted, of: $0, bytes: 0) }
    }

    func damage(
        _ kind: RecoveryReport.Damage.Kind = .corrupted, of file: LetterFile, bytes: Int
    ) -> Verification.Damage {
        Verification.Damage(
            kind: kind, path: file.name.path(file.state), offset: 0, length: bytes,
            sequences: file.name.sequence...file.name.sequence)
    }
}
