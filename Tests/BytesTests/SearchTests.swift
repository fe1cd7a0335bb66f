import Bytes
import Testing

struct SearchTests {
    @Test(arguments: [
        ("abcabd", "abd", true), ("abcabd", "ab", true), ("abcabd", "d", true), ("abcabd", "abda", false),
        ("aab", "ab", true), ("", "a", false), ("ab", "abc", false), ("ab", "b", true), ("ab", "ba", false),
    ])
    func aWordIsFound(_ text: String, _ word: String, _ isThere: Bool) {
        #expect(Array(text.utf8).holds(word.utf8) == isThere)
    }
}
