import Bytes
import Gates
import Testing

struct MarksTests {
    @Test func everythingOlderThanAStartIsMarked() {
        let marks = Marks(restartedWith: 7)
        #expect(marks.through == 7)
        #expect(marks.gate(of: 7, stored: nil) == .restart)
        #expect(marks.gate(of: 8, stored: nil) == nil)
        #expect(marks.gate(of: 3, stored: .consent) == .consent)
        #expect(Marks(restartedWith: 0).gate(of: 1, stored: nil) == nil)
    }

    @Test func theFirstGateThatHeldAnEventNamesTheReason() {
        var marks = Marks(restartedWith: 2)
        marks.mark(through: 5, .connectivity)
        marks.mark(through: 5, .paused)
        marks.mark(through: 9, .paused)
        let reasons = (1...10).map { marks.gate(of: $0, stored: nil) }
        #expect(
            reasons == [
                .restart, .restart, .connectivity, .connectivity, .connectivity, .paused, .paused, .paused, .paused,
                nil,
            ])
    }

    @Test func settledStretchesAreForgotten() {
        var marks = Marks(restartedWith: 2)
        marks.mark(through: 5, .connectivity)
        marks.settle(below: 3)
        #expect(marks.gate(of: 3, stored: nil) == .connectivity)
        marks.settle(below: 6)
        #expect(marks.through == 0)
        #expect(marks.gate(of: 6, stored: nil) == nil)
    }

    /// However many gates close and open, what is marked and what is not stays exact, and memory is bounded.
    @Test(arguments: [UInt64(1), 2, 3, 4, 5]) func marksAreExact(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var newest: UInt64 = 0
        var marked: UInt64 = 0
        var low: UInt64 = 1
        var marks = Marks(restartedWith: 0)
        for _ in 0..<2_000 {
            newest += UInt64.random(in: 0...3, using: &random)
            switch Int.random(in: 0..<4, using: &random) {
            case 0, 1:
                marks.mark(through: newest, Gate.allCases.randomElement(using: &random) ?? .connectivity)
                marked = max(marked, newest)
            case 2:
                low = UInt64.random(in: low...newest + 1, using: &random)
                marks.settle(below: low)
            default:
                let sequence = UInt64.random(in: low...newest + 2, using: &random)
                let isMarked = marks.gate(of: sequence, stored: nil) != nil
                #expect(isMarked == (sequence <= marked), "seed \(seed), sequence \(sequence)")
            }
        }
    }
}
