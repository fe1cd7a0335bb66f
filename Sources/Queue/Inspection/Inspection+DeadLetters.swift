internal import Posix

extension Inspection {
    /// Reads every dead letter.
    func readLetters(_ result: inout Verification) {
        for destination in (try? storage.names(in: DeadLetterStore.folder)) ?? [] {
            let folder = DeadLetterStore.folder + "/" + destination
            for text in (try? storage.names(in: folder)) ?? [] {
                guard let (name, state) = DeadLetterName.read(text, of: destination) else { continue }
                var bytes: [UInt8] = []
                do throws(Errno) {
                    let file = try storage.open(folder + "/" + text, .readOnly)
                    _ = try file.read(upTo: DeadLetter.maximumBytes + 1, at: 0, into: &bytes)
                } catch {
                    // A daemon has dropped it, or has given it another name.
                    if error == .noEntry { continue }
                }
                result.deadLetters.count += 1
                result.deadLetters.bytes += bytes.count
                if state == .retry { result.deadLetters.retried += 1 }
                guard DeadLetter(bytes, seal: format.identity.seal)?.name != name else { continue }
                result.damages.append(
                    Verification.Damage(
                        kind: .corrupted, path: folder + "/" + text, offset: 0, length: bytes.count,
                        sequences: name.sequence...name.sequence))
            }
        }
    }
}
