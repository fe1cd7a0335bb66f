private func taken(_ text: String, _ why: String) -> Row { Row(text: Array(text.utf8), isTaken: true, why: why) }
private func refused(_ text: String, _ why: String) -> Row { Row(text: Array(text.utf8), isTaken: false, why: why) }
private func bytes(_ bytes: [UInt8], _ why: String, isTaken: Bool = false) -> Row {
    Row(text: bytes, isTaken: isTaken, why: why)
}
/// A string of these bytes.
private func quoted(_ inside: [UInt8], _ why: String, isTaken: Bool = false) -> Row {
    Row(text: [0x22] + inside + [0x22], isTaken: isTaken, why: why)
}

private func times(_ count: Int, _ text: String) -> String { String(repeating: text, count: count) }

private func nested(_ depth: Int, _ opening: String, _ inside: String, _ closing: String) -> String {
    times(depth, opening) + inside + times(depth, closing)
}

extension DocumentTable {
    /// Section 7: quotation marks around any characters but controls, the mark and the backslash, which are escaped.
    static let strings: [Row] = [
        taken("\"\"", "empty"), taken(#""abc""#, "ASCII"), taken(#"" ""#, "a space"),
        taken(#""é€😀""#, "two, three and four bytes"),
        taken(#""\"""#, "an escaped mark"), taken(#""\\""#, "an escaped backslash"),
        taken(#""\/""#, "an escaped slash"),
        taken(#""/""#, "a slash need not be escaped"), taken(#""\b\f\n\r\t""#, "the short escapes"),
        taken(#""\\u0041""#, "no escape of a letter"),
        taken(#""\\\"""#, "a backslash and a mark"), taken(#""\u0041""#, "an escape"),
        taken(#""\u00e9""#, "small digits"),
        taken(#""\u00E9""#, "large digits"), taken(#""\uAbCd""#, "both"), taken(#""\u0000""#, "zero, escaped"),
        taken(#""\u001f""#, "a control, escaped"), taken(#""\u0022\u005c""#, "mark and backslash by their numbers"),
        taken(#""\ud83d\ude00""#, "a pair of surrogates"), taken(#""\uDBFF\uDFFF""#, "the last pair"),
        taken(#""\ud800""#, "a high surrogate alone: section 8.2 leaves it to the receiver, it is kept"),
        taken(#""\udc00""#, "a low surrogate alone, too"), taken(#""\udc00\ud800""#, "a pair the wrong way round, too"),
        taken(#""\ud800\n""#, "a high surrogate before another escape, too"),
        taken(#""\ud800x""#, "and before a letter"),
        taken(#""\ud800\ud800\udc00""#, "and before a pair"), taken(#""\uFFFE\uFFFF\uFDD0""#, "noncharacters, escaped"),
        taken("\"\u{7F}\"", "DEL is no control here"), taken("\"\u{80}\u{9F}\"", "nor are those of the second set"),
        taken("\"\u{2028}\u{2029}\"", "separators of lines"), taken("\"\u{FEFF}\"", "U+FEFF inside a string"),
        quoted([0xEF, 0xBF, 0xBE, 0xEF, 0xBF, 0xBF], "noncharacters", isTaken: true),
        quoted([0xEF, 0xB7, 0x90], "a noncharacter", isTaken: true),
        taken("\"e\u{301}\"", "a combining one"),
        taken("\"\u{202E}\"", "one that turns the direction"),
        taken(#""'""#, "a single quote"), taken(#""{}[]:,""#, "structural characters"),
        taken(#""null""#, "a literal in quotes"),
        taken("\"\(times(100_000, "x"))\"", "100,000 characters"),
        taken("\"\(times(10_000, #"\u0041"#))\"", "10,000 escapes"),
        refused("\"", "a mark alone"), refused(#""abc"#, "no end"), refused(#"abc""#, "no beginning"),
        refused(#""a"b""#, "a mark inside"),
        refused(#""\""#, "the end is escaped"), refused(#""\"#, "a backslash at the end"),
        refused(#""\\\""#, "an end after three backslashes"),
        refused("'a'", "single quotes"), refused("`a`", "other quotes"),
        refused("\u{201C}a\u{201D}", "typographic quotes"),
        refused("\"a\nb\"", "a line feed"), refused("\"a\rb\"", "a carriage return"), refused("\"a\tb\"", "a tab"),
        refused("\"a\u{0}b\"", "a zero byte"), refused("\"a\u{1}b\"", "a control"),
        refused("\"a\u{1F}b\"", "the last control"),
        refused("\"a\u{8}b\"", "a backspace"), refused("\"a\u{C}b\"", "a form feed"),
        refused("\"a\u{1B}[31m\"", "a sequence for a terminal"),
        refused("\"\\\n\"", "a line that goes on"), refused(#""\x41""#, "no such escape"),
        refused(#""\a""#, "no such escape"),
        refused(#""\v""#, "no such escape"), refused(#""\0""#, "no such escape"), refused(#""\e""#, "no such escape"),
        refused(#""\'""#, "no such escape"), refused(#""\ ""#, "no such escape"), refused(#""\N""#, "case matters"),
        refused(#""\U0041""#, "case matters"), refused(#""\u""#, "no digits"), refused(#""\u1""#, "one digit"),
        refused(#""\u12""#, "two digits"),
        refused(#""\u123""#, "three digits"), refused(#""\u123g""#, "no digit"),
        refused(#""\u 041""#, "a space for a digit"),
        refused(#""\u+041""#, "a sign for a digit"), refused(#""\u-041""#, "a sign for a digit"),
        refused(#""\u{41}""#, "braces"),
        refused(#""\u00"#, "cut in an escape"), refused(#""\ud83d\u""#, "no digits in the second half"),
        refused(#""\ud83d\ude0""#, "cut in it"),
        refused(#""\ud83d\"#, "a backslash at the end behind a half"), refused(#"\u0022a""#, "an escape for the mark"),
        refused("\"\\é\"", "an escape of what is not ASCII"), refused("\"\\😀\"", "an escape of four bytes"),
    ]

    /// Section 8.1: UTF-8 without a byte order mark; what UTF-8 is says RFC 3629.
    static let encodings: [Row] = [
        quoted([0xC2, 0x80], "the first of two bytes", isTaken: true),
        quoted([0xDF, 0xBF], "the last of two", isTaken: true),
        quoted([0xE0, 0xA0, 0x80], "the first of three", isTaken: true),
        quoted([0xEF, 0xBF, 0xBF], "the last of three", isTaken: true),
        quoted([0xED, 0x9F, 0xBF], "the last before the surrogates", isTaken: true),
        quoted([0xEE, 0x80, 0x80], "the first behind them", isTaken: true),
        quoted([0xF0, 0x90, 0x80, 0x80], "the first of four", isTaken: true),
        quoted([0xF4, 0x8F, 0xBF, 0xBF], "the last of four", isTaken: true),
        quoted([0x80], "a byte that goes on alone"), quoted([0xBF], "another"),
        quoted([0x61, 0x80], "behind a letter"),
        quoted([0xC2], "cut after one of two"), quoted([0xC2, 0x61], "a letter for the second"),
        quoted([0xE2, 0x82], "cut after two of three"),
        quoted([0xE2, 0x28, 0xA1], "a mark for the second"), quoted([0xE2, 0x82, 0x28], "a mark for the third"),
        quoted([0xF0, 0x9F, 0x98], "cut after three of four"),
        quoted([0xF0, 0x9F, 0x98, 0x61], "a letter for the fourth"),
        quoted([0xC0, 0x80], "zero in two bytes"), quoted([0xC0, 0xAF], "a slash in two bytes"),
        quoted([0xC1, 0xBF], "DEL in two bytes"),
        quoted([0xE0, 0x80, 0x80], "zero in three bytes"), quoted([0xE0, 0x9F, 0xBF], "what two bytes hold in three"),
        quoted([0xF0, 0x80, 0x80, 0x80], "zero in four bytes"),
        quoted([0xF0, 0x8F, 0xBF, 0xBF], "what three bytes hold in four"),
        quoted([0xED, 0xA0, 0x80], "a high surrogate"), quoted([0xED, 0xAF, 0xBF], "the last high surrogate"),
        quoted([0xED, 0xB0, 0x80], "a low surrogate"),
        quoted([0xED, 0xA0, 0xBD, 0xED, 0xB8, 0x80], "a pair of them (CESU-8)"),
        quoted([0xF4, 0x90, 0x80, 0x80], "above U+10FFFF"), quoted([0xF5, 0x80, 0x80, 0x80], "far above"),
        quoted([0xF8, 0x88, 0x80, 0x80, 0x80], "five bytes"),
        quoted([0xFC, 0x84, 0x80, 0x80, 0x80, 0x80], "six bytes"),
        quoted([0xFE], "no byte of UTF-8"), quoted([0xFF], "nor this"), quoted([0xE9], "Latin-1"),
        quoted([0x93, 0x61, 0x94], "Windows-1252"),
        bytes([0xEF, 0xBB, 0xBF, 0x7B, 0x7D], "a byte order mark"),
        bytes([0xEF, 0xBB, 0xBF], "a byte order mark alone"),
        bytes([0xEF, 0xBB, 0x7B, 0x7D], "two bytes of one"),
        bytes([0x20, 0xEF, 0xBB, 0xBF, 0x7B, 0x7D], "one behind a space"),
        bytes([0xFF, 0xFE, 0x7B, 0x00, 0x7D, 0x00], "UTF-16, little-endian, with a mark"),
        bytes([0xFE, 0xFF, 0x00, 0x7B, 0x00, 0x7D], "UTF-16, big-endian, with a mark"),
        bytes([0x7B, 0x00, 0x7D, 0x00], "UTF-16 without a mark"),
        bytes([0x00, 0x7B, 0x00, 0x7D], "the same, big-endian"),
        bytes([0x7B, 0x00, 0x00, 0x00, 0x7D, 0x00, 0x00, 0x00], "UTF-32"),
        bytes([0x2B, 0x41, 0x48, 0x73, 0x2D], "UTF-7"), bytes([0xE5], "a byte that is not ASCII alone"),
        bytes([0x5B, 0xFF, 0x5D], "one in an array"),
        bytes([0x7B, 0x22, 0xB9, 0x22, 0x3A, 0x30, 0x7D], "one in a name"), bytes([0x31, 0xE5], "one behind a number"),
        bytes([0x1F, 0x8B, 0x08], "gzip"),
    ]

    /// Section 9: a parser may set limits; these are INTERFACE's.
    static let limits: [Row] = [
        taken(nested(64, "[", "", "]"), "64 levels of arrays"),
        refused(nested(65, "[", "", "]"), "65 levels of arrays"),
        taken(nested(64, #"{"a":"#, "1", "}"), "64 levels of objects"),
        refused(nested(65, #"{"a":"#, "1", "}"), "65 of objects"),
        taken(nested(32, #"[{"a":"#, "1", "}]"), "64 levels of both"),
        taken(nested(63, "[", "{}", "]"), "an empty object at the last"),
        refused(nested(64, "[", "{}", "]"), "an empty object below the last level"),
        refused(times(100_000, "["), "100,000 beginnings"), refused(times(50_000, #"[{"a":"#), "50,000 of both"),
        taken("[\(times(1_000, "[],"))[]]", "levels that end count no more"),
        taken("[\(times(10_000, "1,"))1]", "10,001 values"),
        taken("{\(times(10_000, #""a":1,"#))\"a\":1}", "10,001 members of one name"),
        taken("\(times(10_000, " "))1\(times(10_000, "\n"))", "20,000 bytes of white space"),
    ]
}
