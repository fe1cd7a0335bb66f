import Delivery
import Gates
import Queue
import Reachability
import Testing
import Time

/// A destination whose settings change is replaced; what waited for it goes on as it was.
struct ReplacementTests {
    /// What waits was held by what held it, and by no restart; what nothing held stays unmarked.
    @Test func marksOutliveTheirDestination() throws {
        let other = try Scene.settings { $0.batchMaximumEvents = 3 }
        var scene = try Scene.online()
        scene.accept(12)
        scene.accept(2, in: .urgent)
        scene.replace(other)
        scene.tell(.checkDue)
        scene.answer(503)
        scene.becomeReachable()
        scene.accept(1, circumstances: AcceptContext(connectionType: .ethernet, closed: []))
        scene.losePath()
        scene.accept(4, circumstances: AcceptContext(connectionType: .ethernet, closed: []))
        scene.replace(try Scene.settings())
        scene.tell(.checkDue)
        scene.answer(200)
        scene.becomeReachable()
        scene.pass(.seconds(10))
        scene.drain()
        let reasons = scene.delivered.filter { $0.log == .normal }.map(\.reason)
        #expect(
            reasons == [String?](repeating: "destination", count: 13) + [String?](repeating: "connectivity", count: 4))
        #expect(scene.delivered.filter { $0.log == .urgent }.map(\.reason) == ["destination", "destination"])
    }

    @Test func whatNothingHeldIsNotMarkedByAReload() throws {
        var scene = try Scene.online()
        scene.accept(30)
        scene.answer(200)
        scene.replace(try Scene.settings { $0.batchMaximumEvents = 3 })
        scene.tell(.checkDue)
        scene.answer(200)
        scene.becomeReachable()
        scene.pass(.seconds(10))
        scene.drain()
        #expect(scene.delivered.map(\.reason) == [String?](repeating: nil, count: 30))
    }

    /// Reloads are no way around the rate.
    @Test func theRateOutlivesItsDestination() throws {
        func settings(_ most: Int) throws -> DestinationSettings {
            try Scene.settings {
                $0.batchMaximumEvents = most
                $0.maximumEventsPerSecond = 10
            }
        }
        var scene = Scene(try settings(100), waiting: 100)
        let began = scene.now
        for turn in 1...40 {
            scene.tell(.checkDue)
            if !scene.flights.isEmpty { scene.answer(200) }
            scene.becomeReachable()
            scene.drain()
            scene.pass(.milliseconds(100))
            scene.drain()
            scene.replace(try settings(100 + turn))
        }
        #expect((scene.now - began).inSeconds < 4.1 && scene.delivered.count <= 51 && scene.delivered.count >= 30)
    }
}
