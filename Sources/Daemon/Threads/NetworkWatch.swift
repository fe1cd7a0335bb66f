internal import Bytes
internal import Netlink
internal import Posix
internal import Reachability
internal import Reactor
internal import SystemdService
internal import Time

/// The netlink sockets on the loop: says that something changed, and answers questions for a path.
///
/// Where netlink cannot be had it says so once; then every path is taken for granted, and requests find out.
final class NetworkWatch: ReadyHandler {
    /// So many questions in a row without an answer mean that netlink cannot be had.
    private static let patience = 5

    /// Called with what announced it when links, addresses, routes or rules may have changed.
    var changed: (String) -> Void = { _ in }

    /// What the kernel announced since the start, by its group.
    private(set) var messages: [MulticastGroup: UInt64] = [:]
    /// How often announcements were lost.
    private(set) var overruns: UInt64 = 0
    /// How often it was asked for the way to a destination.
    private(set) var evaluations: UInt64 = 0

    private let loop: EventLoop
    private let log: LogThread
    private let multicast = MulticastSocket()
    private var registration: EventLoop.Registration?
    private var query: QuerySocket?
    private var hasComplained = false
    /// Questions in a row that got no answer.
    private var failures = 0
    /// The owner's word on the types of links.
    var rules: [LinkTypeRule]

    init(on loop: EventLoop, log: LogThread, rules: [LinkTypeRule]) {
        self.loop = loop
        self.log = log
        self.rules = rules
        open()
    }

    func ready(_ readiness: Readiness, registration: EventLoop.Registration) {
        let changes = multicast.drain()
        messages.merge(changes.messages.mapValues(UInt64.init), uniquingKeysWith: +)
        overruns += UInt64(changes.overruns)
        if changes.failure != nil { reopenLater() }
        guard changes.isDirty else { return }
        let groups = changes.messages.keys.map(\.rawValue).sorted() + (changes.overruns > 0 ? ["overrun"] : [])
        changed((["kernel"] + groups).joined(separator: " "))
    }

    /// What the kernel says of the way to these addresses; nil where it did not answer, and is asked again soon.
    func verdict(to addresses: [IPAddress]) -> PathVerdict? {
        evaluations += 1
        guard let query = query ?? openQuery() else { return .unobserved }
        do throws(NetlinkError) {
            let verdict = try PathVerdict(to: addresses, asking: query, rules: rules)
            failures = 0
            return verdict
        } catch {
            self.query = nil
            failures += 1
            guard failures < Self.patience else {
                complain("\(error)")
                return .unobserved
            }
            changed("kernel")
            return nil
        }
    }

    /// What the kernel says of the way to each address, for people.
    func ways(to addresses: [IPAddress]) -> [KernelWay] {
        addresses.map { address in
            let answer: String
            do throws(NetlinkError) {
                answer = try (query ?? openQuery())?.route(to: address, matching: false).words ?? "cannot be asked"
            } catch {
                answer = "\(error)"
            }
            return KernelWay(address: address, verdict: verdict(to: [address]) ?? .unobserved, answer: answer)
        }
    }

    private func open() {
        do throws(Errno) {
            try multicast.open()
            guard let descriptor = multicast.descriptor else { return }
            registration = try loop.register(descriptor, .readable, handler: self)
        } catch {
            complain("\(error)")
            reopenLater()
        }
    }

    private func reopenLater() {
        if let registration { loop.deregister(registration) }
        registration = nil
        loop.schedule(at: loop.now + multicast.reopenDelay) { [weak self] in
            self?.open()
            self?.changed("kernel")
        }
    }

    private func openQuery() -> QuerySocket? {
        do throws(Errno) {
            let socket = QuerySocket(try KernelChannel())
            query = socket
            return socket
        } catch {
            complain("\(error)")
            return nil
        }
    }

    private func complain(_ detail: String) {
        guard !hasComplained else { return }
        hasComplained = true
        log.log(.netlinkUnavailable(detail))
    }
}
