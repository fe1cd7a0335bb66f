internal import Bytes
internal import Delivery
internal import Reachability
internal import Time

/// The way of a request to the collector and back.
extension Simulation {
    /// Takes a request on its way; a life that is over hears nothing of it, the collector does.
    func carry(_ request: OutgoingRequest, _ events: [Int], _ addresses: [IPAddress], life: Int) {
        countRequest()
        mayInterfere(with: events)
        guard let link = network.active?.index else {
            return fail(request, .noRoute, life, after: .zero)
        }
        plan(life, after: request.timeout) { process in
            process.ended(request.id, .failed(TransportFailure(reason: .timeout, detail: "no answer")))
        }
        plan(after: span(.milliseconds(1)...(.milliseconds(120)))) { world in
            guard world.isUp(link) else { return }
            world.arrive(request, events, addresses.first, by: link, life: life)
        }
    }

    private func isUp(_ index: UInt32) -> Bool { network.links.contains { $0.index == index && $0.isUp } }

    private func arrive(
        _ request: OutgoingRequest, _ events: [Int], _ address: IPAddress?, by link: UInt32, life: Int
    ) {
        let name = request.destination
        let new = events.filter { collectors[name]?.kept[$0] == nil }
        guard let (reply, after) = collectors[name]?.take(events) else { return }
        promise.arrived(
            name, new.filter { collectors[name]?.kept[$0] != nil }, repeats: collectors[name]?.repeats ?? 0)
        let isVerified = request.url.scheme == .https
        let back = after + span(.milliseconds(1)...(.milliseconds(60)))
        promise.note("  \(name) gets \(request.id) \(events): \(reply)")
        switch reply {
        case .answer(let status, let headers):
            let answer = TransportAnswer(
                status: status, headers: headers, isVerifiedPeer: isVerified, peer: address)
            plan(after: back) { world in
                guard world.isUp(link) else { return }
                world.plan(life, after: .zero) { $0.ended(request.id, .answer(answer)) }
            }
        case .portal(let status):
            guard !isVerified else { return fail(request, .tls, life, after: back) }
            let answer = TransportAnswer(status: status, headers: [], isVerifiedPeer: false, peer: address)
            plan(life, after: back) { $0.ended(request.id, .answer(answer)) }
        case .refused: fail(request, .refused, life, after: back)
        case .reset: fail(request, .reset, life, after: back)
        case .nothing: return
        }
    }

    private func fail(_ request: OutgoingRequest, _ reason: StateReason, _ life: Int, after span: Duration) {
        plan(life, after: span) { process in
            process.ended(request.id, .failed(TransportFailure(reason: reason, detail: reason.rawValue)))
        }
    }
}
