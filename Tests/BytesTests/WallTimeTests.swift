import Bytes
import Testing
import Time

struct WallTimeParsingTests {
    @Test(arguments: [0, 951_782_399_999, 951_868_800_000, 1_795_849_478_123, 253_402_300_799_999] as [Int64])
    func whatIsWrittenReadsBackTheSame(_ milliseconds: Int64) {
        let time = WallTime(milliseconds: milliseconds)
        #expect(WallTime(rfc3339: time.rfc3339.text) == time)
    }

    @Test(arguments: [
        "", "2026-11-30", "2026-11-30T07:04:38Z", "2026-13-30T07:04:38.123Z", "2026-11-00T07:04:38.123Z",
        "2026-11-30T24:04:38.123Z", "2026-11-30T07:04:38.123+", "2026-11-30 07:04:38.123Z", "-026-11-30T07:04:38.123Z",
    ])
    func otherFormsAreNotRead(_ text: String) { #expect(WallTime(rfc3339: text) == nil) }
}
