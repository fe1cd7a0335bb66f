import Bytes
import Testing

struct SuggestionTests {
    @Test(arguments: [
        ("stauts", "status"), ("STATUS", "status"), ("flsh", "flush"), ("relaod", "reload"), ("statsu", "status"),
    ])
    func aSlipOfTheFingersIsRecognised(_ typed: String, _ meant: String) {
        #expect(nearest(to: typed, among: ["send", "status", "flush", "reload"]) == meant)
    }

    @Test(arguments: ["", "x", "weather", "sssss"])
    func whatIsFarFromAllIsNot(_ typed: String) {
        #expect(nearest(to: typed, among: ["send", "status", "flush", "reload"]) == nil)
    }
}
