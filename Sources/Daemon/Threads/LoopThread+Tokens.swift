internal import Configuration
internal import Posix
internal import Reactor
internal import SystemdService

/// A token as it stands in its file; nil where that cannot be used.
struct FreshToken: Sendable {
    let destination: String
    let token: [UInt8]?
    let notices: [Notice]
}

/// Tokens that are read anew, each on a thread of its own, for a mount may hang.
extension LoopThread {
    func readToken(_ destination: String) {
        guard let section = section(of: destination),
            tokensUnderWay.insert(destination).inserted
        else { return }
        let replies = tokens
        do throws(Errno) {
            _ = try Posix.Thread(name: "token") {
                var reader = FileReader()
                let token = reader.token(of: section)
                replies.post(FreshToken(destination: destination, token: token, notices: reader.notices))
            }
        } catch {
            let notices = FileReader.place(ofTokenOf: section).map { path, setting in
                [Notice.fileUnreadable(path, setting: setting, detail: "no thread to read it: \(error)")]
            }
            replies.post(FreshToken(destination: destination, token: nil, notices: notices ?? []))
        }
    }

    func took(_ fresh: FreshToken) {
        tokensUnderWay.remove(fresh.destination)
        // What a reload has taken out while the file was read needs none.
        guard let section = section(of: fresh.destination) else { return }
        if fresh.token != nil, let place = FileReader.place(ofTokenOf: section) {
            log.overtake([.file], where: [.file: place.path, .setting: place.setting])
        }
        for notice in fresh.notices { log.log(notice) }
        tell(.token(destination: fresh.destination, fresh.token, fault: fresh.notices.last?.message))
    }

    private func section(of destination: String) -> DestinationSection? {
        settings.configuration?.destinations.first { $0.name == destination }
    }
}
