import Gates
import Testing

/// The states of consent by what operators, the configuration and the default say.
@Suite struct ConsentTests {
    @Test func anOperatorsStateGoesBeforeTheConfigurationsAndThatBeforeTheDefault() {
        let states: [ConsentState?] = [nil, .allow, .hold, .deny]
        for kept in states {
            for configured in states {
                for fallback in ConsentState.allCases {
                    let consent = Consent(
                        kept: .whole(kept.map { ["ads": $0] } ?? [:]),
                        settings: ConsentSettings(
                            fallback: fallback, states: configured.map { ["ads": $0] } ?? [:]))
                    let state = kept ?? configured ?? fallback
                    #expect(consent.state(of: "ads") == state)
                    #expect(consent.state(of: "other") == fallback)
                    let isKnown = kept != nil || configured != nil
                    let categories = isKnown ? ["ads"] : []
                    #expect(consent.categories == categories)
                    let withheld = isKnown && state != .allow ? ["ads"] : []
                    #expect(consent.withheld == withheld)
                }
            }
        }
    }

    /// Each pair of orders in hand at once, with either outcome of both.
    @Test func whatForbidsMoreIsInForceAtOnceAndWhatForbidsLessOnceItIsDurable() {
        for before in ConsentState.allCases {
            for first in ConsentState.allCases {
                for second in ConsentState.allCases {
                    for outcome in 0..<4 {
                        let (isFirst, isSecond) = (outcome & 1 == 1, outcome & 2 == 2)
                        var consent = Consent(kept: .whole(["ads": before]))
                        consent.ask(first, of: "ads")
                        #expect(consent.state(of: "ads") == max(before, first))
                        consent.ask(second, of: "ads")
                        let strictest = max(before, first, second)
                        #expect(consent.state(of: "ads") == strictest)
                        consent.answer(first, of: "ads", isDurable: isFirst)
                        let asked = max(first, second)
                        let between = max(isFirst ? first : before, asked)
                        #expect(consent.state(of: "ads") == between)
                        consent.answer(second, of: "ads", isDurable: isSecond)
                        let kept = isSecond ? second : isFirst ? first : before
                        let after = isSecond ? second : max(kept, asked)
                        #expect(consent.state(of: "ads") == after)
                    }
                }
            }
        }
    }

    @Test func anOrderThatFailedAndForbidsMoreIsLiftedByTheNext() {
        var consent = Consent()
        consent.ask(.deny, of: "ads")
        consent.answer(.deny, of: "ads", isDurable: false)
        #expect(consent.state(of: "ads") == .deny)
        consent.use(ConsentSettings(fallback: .allow, states: ["ads": .allow]))
        #expect(consent.state(of: "ads") == .deny, "no reload lifts it")
        consent.ask(.allow, of: "ads")
        #expect(consent.state(of: "ads") == .deny)
        consent.answer(.allow, of: "ads", isDurable: true)
        #expect(consent.state(of: "ads") == .allow)
    }

    @Test func whatIsLostIsOnHoldUntilItIsSetAnew() {
        let settings = ConsentSettings(fallback: .allow, states: ["named": .allow, "denied": .deny])
        var consent = Consent(kept: .lost(named: ["trace"]), settings: settings, used: ["used"])
        #expect(consent.lost == ["trace", "used"])
        #expect(consent.withheld == ["denied", "named", "trace", "used"])
        #expect(["named", "trace", "used", "new"].allSatisfy { consent.state(of: $0) == .hold })
        #expect(consent.state(of: "denied") == .deny, "that forbids more")
        #expect(consent.lostStates == ["trace": .hold, "used": .hold, Consent.others: .hold])
        consent.found("late")
        #expect(consent.state(of: "late") == .hold && consent.lost.contains("late"))
        consent.use(ConsentSettings(states: ["used": .allow]))
        #expect(consent.state(of: "used") == .hold, "only an operator lifts it")
        consent.ask(.allow, of: "used")
        consent.answer(.allow, of: "used", isDurable: true)
        #expect(consent.state(of: "used") == .allow && !consent.lost.contains("used"))
        let denied = Consent(kept: .lost(named: ["ads"]), settings: ConsentSettings(fallback: .deny))
        #expect(denied.state(of: "ads") == .deny && denied.lostStates["ads"] == .deny)
        let later = Consent(kept: .whole(["ads": .allow, Consent.others: .hold]), settings: settings)
        #expect(later.state(of: "ads") == .allow && later.state(of: "new") == .hold, "after the next start, too")
        #expect(later.state(of: "denied") == .deny && later.categories == ["ads", "denied", "named"])
        var whole = Consent()
        whole.found("late")
        #expect(whole.state(of: "late") == .allow && whole.lost.isEmpty)
    }

    @Test func aReloadChangesWhatNobodyHasSet() {
        var consent = Consent(kept: .whole(["set": .hold]), used: ["used"])
        consent.use(ConsentSettings(fallback: .hold, states: ["set": .allow, "named": .deny]))
        #expect(consent.state(of: "set") == .hold)
        #expect(consent.state(of: "named") == .deny)
        #expect(consent.state(of: "used") == .hold)
        consent.use(ConsentSettings())
        #expect(consent.categories == ["set", "used"])
        #expect(consent.state(of: "used") == .allow && consent.state(of: "set") == .hold)
    }

    @Test func thereAreAsManyCategoriesAsMayBe() {
        var consent = Consent()
        for number in 1...Consent.maximumCategories {
            #expect(consent.hasRoom(for: "c\(number)"))
            consent.use("c\(number)")
        }
        #expect(!consent.hasRoom(for: "other") && consent.hasRoom(for: "c1"))
    }

    @Test func whatTheConfigurationNamesHasItsPlace() {
        let named = ConsentSettings(states: ["ads": .hold, "web": .deny], named: ["plain"])
        var consent = Consent(settings: named)
        #expect(consent.categories == ["ads", "plain", "web"])
        for number in 4...Consent.maximumCategories { consent.use("c\(number)") }
        #expect(!consent.hasRoom(for: "other"))
        for category in ["ads", "plain", "web", "c4"] { #expect(consent.hasRoom(for: category)) }
        consent.use("ads")
        #expect(!consent.hasRoom(for: "other") && consent.hasRoom(for: "web"), "it takes the place that it had")
        consent.use(ConsentSettings(states: ["ads": .hold]))
        #expect(consent.hasRoom(for: "other") && consent.crowded.isEmpty, "what is named no more has none")
    }

    @Test func aReloadThatNamesMoreThanThereAreGivesThePlacesThatAreLeft() {
        var consent = Consent(used: Set((1..<Consent.maximumCategories).map { "c\($0)" }))
        consent.use(ConsentSettings(named: ["a", "c1"]))
        #expect(consent.crowded.isEmpty && consent.hasRoom(for: "a") && !consent.hasRoom(for: "b"))
        consent.use(ConsentSettings(named: ["b", "a", "c1"]))
        #expect(consent.crowded == ["a", "b"] && consent.hasRoom(for: "a") && consent.hasRoom(for: "b"))
        consent.ask(.hold, of: "b")
        #expect(consent.crowded == ["a"] && !consent.hasRoom(for: "a") && consent.hasRoom(for: "b"))
    }

    @Test func whatIsBeingPurgedIsNotSent() {
        var consent = Consent(used: ["ads"])
        consent.beginPurge("ads")
        consent.beginPurge("ads")
        consent.endPurge("ads")
        #expect(consent.isPurging("ads") && consent.withheld == ["ads"] && consent.state(of: "ads") == .allow)
        consent.endPurge("ads")
        #expect(!consent.isPurging("ads") && consent.withheld.isEmpty)
        consent.endPurge("ads")
        #expect(!consent.isPurging("ads"))
    }
}
