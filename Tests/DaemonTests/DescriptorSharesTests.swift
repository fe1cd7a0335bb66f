import HTTPTransport
import Intake
import Testing

@testable import Daemon

struct DescriptorSharesTests {
    /// What stands open for the daemon itself, operators and the files of three logs.
    private static let kept = 31

    @Test(arguments: [40, 48, 64, 128, 256, 1_024, 8_192, 1 << 20]) func allFitTheLimit(limit: Int) {
        let shares = DescriptorShares(limit: limit)
        #expect(shares.clients + shares.delivery + Self.kept <= limit)
        #expect(shares.delivery >= CurlTransport.descriptorsADestination, "one destination at least")
        #expect(shares.clients >= 2)
        var limits = IntakeLimits()
        let isBound = shares.bound(&limits)
        #expect(isBound == (limits.maximumConnections < IntakeLimits().maximumConnections))
        #expect(limits.maximumConnections >= 1 && limits.maximumTurnedAway >= 1)
        if isBound { #expect(limits.maximumConnections + limits.maximumTurnedAway <= shares.clients) }
    }

    @Test(arguments: [1, 64, 1_024, 4_096]) func theLimitThatIsNamedIsEnough(clients: Int) {
        let limit = DescriptorShares.limit(forClients: clients)
        #expect(DescriptorShares(limit: limit).clients >= clients)
        #expect(limit < 2 * clients + 256)
    }
}
