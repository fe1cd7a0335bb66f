internal import Posix

extension Inspection {
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
        for file in letterFiles() {
            guard let found = read(file) else { continue }
            result.deadLetters.count += 1
            result.deadLetters.bytes += found.bytes
            if file.state == .retry { result.deadLetters.retried += 1 }
            if found.letter == nil { result.damages.append(damage(of: file, bytes: found.bytes)) }
        }
    }

    func damage(of file: LetterFile, bytes: Int) -> Verification.Damage {
        Verification.Damage(
            kind: .corrupted, path: file.name.path(file.state), offset: 0, length: bytes,
            sequences: file.name.sequence...file.name.sequence)
    }
}
