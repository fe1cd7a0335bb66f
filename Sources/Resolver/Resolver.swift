package import Bytes
internal import Posix
package import Time

/// Names to addresses without blocking the asker: each lookup runs on a thread of its own, which nobody waits for.
///
/// Belongs to one thread, the asker's. A thread that hangs in a lookup holds up neither other lookups nor the end of
/// the process.
package final class Resolver {
    /// What a lookup's thread posts; give it to `receive` on the asker's thread.
    package struct Report: Sendable {
        let host: String
        let result: LookupResult
        let nameServers: [IPAddress]
    }

    /// The system's name servers, as of the last lookup that ended.
    package private(set) var nameServers: [IPAddress] = []

    private var queue = ResolverQueue()
    private let lookUp: @Sendable (String) -> LookupResult
    private let post: @Sendable (Report) -> Void

    /// Looks names up by `lookUp`, which may block; `post` is called on the lookup's thread.
    package init(
        lookUp: @escaping @Sendable (String) -> LookupResult = Resolver.system,
        post: @escaping @Sendable (Report) -> Void
    ) {
        self.lookUp = lookUp
        self.post = post
    }

    /// The system's resolver.
    package static func system(_ host: String) -> LookupResult {
        do throws(LookupError) {
            let addresses = try HostLookup.addresses(of: host)
            return addresses.isEmpty ? .failed(LookupError(text: "no address")) : .addresses(addresses)
        } catch {
            return .failed(error)
        }
    }

    /// The newest addresses known of a host; empty where none are.
    package func addresses(of host: String) -> [IPAddress] { queue.addresses(of: host) }

    /// When `expire` must be called next.
    package var deadline: Instant? { queue.deadline }

    /// Asks for a host; an answer at once where no lookup is needed, else it comes from `receive` or `expire`.
    package func resolve(_ host: String, at now: Instant) -> ResolverAnswer? {
        let (begin, answer) = queue.ask(host, at: now)
        start(begin)
        return answer
    }

    /// Takes what a lookup's thread posted; nil where nobody waits for it and nothing was learnt.
    package func receive(_ report: Report, at now: Instant) -> ResolverAnswer? {
        nameServers = report.nameServers
        let (begin, answer) = queue.finished(report.host, report.result, at: now)
        start(begin)
        return answer
    }

    /// Gives up lookups whose time has passed.
    package func expire(at now: Instant) -> [ResolverAnswer] {
        let (begin, answers) = queue.expire(at: now)
        start(begin)
        return answers
    }

    private func start(_ hosts: [String]) {
        for host in hosts {
            let (lookUp, post) = (lookUp, post)
            do throws(Errno) {
                _ = try Thread(name: "resolver") {
                    let result = lookUp(host)
                    post(Report(host: host, result: result, nameServers: HostLookup.nameServers))
                }
            } catch {
                let failure = LookupError(text: "no thread can be made: \(error)", isSilence: true)
                post(Report(host: host, result: .failed(failure), nameServers: nameServers))
            }
        }
    }
}
