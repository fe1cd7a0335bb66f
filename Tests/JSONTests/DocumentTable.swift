import Bytes
import Testing

/// A document, whether RFC 8259 and INTERFACE's "Posting events" have it taken, and why.
struct Row: Sendable, CustomTestStringConvertible {
    let text: [UInt8]
    let isTaken: Bool
    let why: String

    var testDescription: String { "\(why): \(text.prefix(60).map { $0 }.text)" }
}

private func taken(_ text: String, _ why: String) -> Row { Row(text: Array(text.utf8), isTaken: true, why: why) }
private func refused(_ text: String, _ why: String) -> Row { Row(text: Array(text.utf8), isTaken: false, why: why) }

private func times(_ count: Int, _ text: String) -> String { String(repeating: text, count: count) }

/// Documents by the section of RFC 8259 that speaks of them.
enum DocumentTable {
    static let all: [Row] = [text, literals, objects, arrays, numbers, strings, encodings, limits].flatMap { $0 }

    /// Section 2: a text is one value of any kind, with white space around it and around the six structural characters.
    static let text: [Row] = [
        taken(#"{"a":1}"#, "an object"), taken("[1]", "an array"), taken(#""a""#, "a string alone is a text"),
        taken("42", "a number alone is a text"), taken("null", "a literal alone is a text"),
        taken(" {} ", "spaces around the value"), taken("\t[]\t", "tabs around the value"),
        taken("\n1\n", "line feeds around the value"), taken("\r\"a\"\r", "carriage returns around the value"),
        taken(
            "\r\n\t { \r\n\t \"a\" \r\n\t : \r\n\t 1 \r\n\t , \r\n\t \"b\" \r\n\t :\r\n\t[ \r\n\t 2 \r\n\t ] \r\n\t } ",
            "white space around every structural character"),
        refused("", "no value"), refused(" ", "white space and no value"), refused("\n\n", "line feeds and no value"),
        refused("{}{}", "two values"), refused("{} {}", "two values with a space between"),
        refused("{}\n{}", "two values on two lines"), refused("1 2", "two numbers"), refused("{},", "a comma behind"),
        refused("{}}", "a brace too many"), refused("[]]", "a bracket too many"), refused("[1]x", "a letter behind"),
        refused("{}#", "a mark behind"), refused("{}\u{0}", "a zero byte behind"),
        refused("\u{0}{}", "a zero byte before"),
        refused("\u{0}", "a zero byte alone"), refused("{\u{0}}", "a zero byte between"),
        refused("\u{C}{}", "a form feed is no white space"), refused("\u{B}{}", "a vertical tab is no white space"),
        refused("\u{8}{}", "a backspace is no white space"), refused("\u{7F}{}", "DEL is no white space"),
        refused("\u{A0}{}", "U+00A0 is no white space"), refused("\u{85}{}", "U+0085 is no white space"),
        refused("\u{2028}{}", "U+2028 is no white space"), refused("\u{2060}{}", "U+2060 is no white space"),
        refused("\u{3000}{}", "U+3000 is no white space"), refused("{}\u{FEFF}", "U+FEFF is no white space"),
        refused("[\u{FEFF}1]", "U+FEFF is no white space between either"), refused("[\u{C}1]", "nor is a form feed"),
        refused(",", "a comma alone"), refused(":", "a colon alone"), refused("]", "an end alone"),
        refused("}", "an end alone"),
        refused("[", "a beginning alone"), refused("{", "a beginning alone"), refused("<.>", "no JSON at all"),
        refused("abc", "words"), refused("*", "a mark"), refused(#"{"a":1} // x"#, "a comment"),
        refused("/**/{}", "a comment before"), refused("{/**/}", "a comment between"),
        refused("#x\n{}", "a comment line"),
        refused(#"(){"a":1}"#, "the prefix of a script"), refused("\u{1E}{}", "the separator of RFC 7464"),
    ]

    /// Section 3: three literals, in lower case.
    static let literals: [Row] = [
        taken("true", "true"), taken("false", "false"), taken("[null,true,false]", "all three"),
        refused("True", "case matters"), refused("FALSE", "case matters"), refused("Null", "case matters"),
        refused("[nUll]", "case matters inside"), refused("tru", "cut"), refused("fals", "cut"), refused("nul", "cut"),
        refused("[tru]", "cut inside"), refused("[fals]", "cut inside"), refused("[nul]", "cut inside"),
        refused("t", "cut"),
        refused("truee", "a letter too many"), refused("nulll", "a letter too many"),
        refused("[true1]", "a digit behind"),
        refused("[truefalse]", "two without a comma"), refused("undefined", "no literal of JSON"),
        refused("yes", "no literal"),
        refused("nil", "no literal"), refused("None", "no literal"), refused("t rue", "a space inside"),
        refused("tr\u{0}e", "a zero byte inside"), refused("\u{FF54}rue", "a wide letter"),
    ]

    /// Section 4: string, colon, value, with commas between.
    static let objects: [Row] = [
        taken("{}", "empty"), taken(#"{"":0}"#, "an empty name"), taken(#"{"a":1,"b":2}"#, "two members"),
        taken(#"{"a":1,"a":2}"#, "names should be unique, and need not be"), taken(#"{"a":1,"a":1}"#, "the same twice"),
        taken(#"{"\u0061":1}"#, "an escape in a name"), taken(#"{"\u0000":1}"#, "a zero in a name, escaped"),
        taken(#"{"é":1}"#, "a name that is not ASCII"), taken(#"{"a":{"a":{"a":{}}}}"#, "objects in objects"),
        taken(#"{"a":[{"b":[]}]}"#, "both kinds in turn"), taken("{\"a\":1\n}", "a line feed before the end"),
        taken(#"{"a b":1}"#, "a space in a name"), taken(#"{"{":"}"}"#, "braces in strings"),
        refused("{,}", "a comma alone"), refused(#"{,"a":1}"#, "a comma before"),
        refused(#"{"a":1,}"#, "a comma behind"),
        refused(#"{"a":1,,"b":2}"#, "two commas"), refused(#"{"a":1,,}"#, "two commas behind"),
        refused(#"{"a":1 "b":2}"#, "no comma"), refused(#"{"a":1;"b":2}"#, "another mark than a comma"),
        refused(#"{"a" 1}"#, "no colon"), refused(#"{"a"}"#, "a name alone"), refused(#"{"a","b"}"#, "names alone"),
        refused(#"{"a":}"#, "no value"), refused(#"{"a":,"b":1}"#, "no value before a comma"),
        refused("{:1}", "no name"),
        refused(#"{"a"::1}"#, "two colons"), refused(#"{"a"=1}"#, "another mark than a colon"),
        refused(#"{"a":1:2}"#, "two values"), refused(#"{"a":"b":"c"}"#, "two values"), refused("{a:1}", "a bare name"),
        refused("{'a':1}", "single quotes"), refused("{1:1}", "a number for a name"),
        refused("{null:1}", "a literal for a name"),
        refused("{[]:1}", "an array for a name"), refused("{{}:1}", "an object for a name"),
        refused("{{}}", "a value alone"),
        refused("{1}", "a value alone"), refused(#"{"a":1"#, "no end"), refused(#"{"a":"#, "no end behind a colon"),
        refused(#"{"a""#, "no end behind a name"), refused(#"{"a":1,"#, "no end behind a comma"),
        refused(#"{"a"#, "cut in a name"),
        refused(#"{"a":1]"#, "the end of an array"), refused("{]", "the end of an array at once"),
        refused("{ ", "no end"),
        refused(#"{"a":1}}"#, "two ends"), refused(#"{"a":{"b":1}"#, "one end too few"),
        refused(#"{"a":[}"#, "ends out of order"),
        refused(#"{"a":1/**/}"#, "a comment"), refused(#"{"a":1//"#, "a comment for an end"),
        refused(#"{...}"#, "dots"), refused(#"{"a":b}"#, "a bare value"),
        refused(#"{"a":'b'}"#, "a value in single quotes"),
        refused(#"{\"a\":1}"#, "escapes outside of a string"), refused("{\"a\n\":1}", "a line feed in a name"),
    ]

    /// Section 5: values with commas between.
    static let arrays: [Row] = [
        taken("[]", "empty"), taken("[ ]", "empty with a space"), taken("[[]]", "an empty one in another"),
        taken("[1,2]", "two values"), taken(#"[1,"a",true,null,{},[]]"#, "values of every kind"),
        taken("[[1],[2]]", "arrays"),
        taken("[1\n,2]", "a line feed before the comma"), taken(#"["]"]"#, "a bracket in a string"),
        taken("[{}]", "an object"),
        refused("[,]", "a comma alone"), refused("[,1]", "a comma before"), refused("[1,]", "a comma behind"),
        refused("[1,,2]", "two commas"), refused("[1,,]", "two commas behind"), refused("[1 2]", "no comma"),
        refused("[1;2]", "another mark than a comma"), refused("[1:2]", "a colon"), refused(#"["a":1]"#, "a member"),
        refused("[1", "no end"), refused("[1,", "no end behind a comma"), refused("[1,\n1\n,1", "no end behind lines"),
        refused("[1}", "the end of an object"), refused("[[1]", "one end too few"), refused("[1]]", "one end too many"),
        refused("[}", "the end of an object at once"), refused("[a]", "a bare word"), refused("['a']", "single quotes"),
        refused("[*]", "a mark"), refused("[1][2]", "two arrays"), refused("[\"\",", "no end behind a string"),
        refused("[\"a\"", "no end"), refused("[3[4]]", "no comma before an array"),
        refused("[{}", "no end behind an object"),
        refused("[<null>]", "a literal in marks"), refused("(1)", "round brackets"), refused("[1,2)", "a round end"),
        refused("[\"a\",\n4\n,1,", "no end at all"), refused("[...]", "dots"), refused("[-]", "a mark and no number"),
    ]

    /// Section 6: minus, digits without a zero before, fraction, exponent; nothing else.
    static let numbers: [Row] = [
        taken("0", "zero"), taken("-0", "minus zero"), taken("-1", "a negative one"), taken("10", "a zero behind"),
        taken("0.0", "a fraction of zero"), taken("-0.0", "the same below zero"), taken("1.5", "a fraction"),
        taken("1.50", "a zero behind a fraction"), taken("0.001", "zeros before a fraction's digit"),
        taken("0e0", "zero's exponent"),
        taken("0e+1", "plus in an exponent"), taken("1E5", "a large E"), taken("1e5", "a small e"),
        taken("1E+05", "zeros in an exponent"),
        taken("1e-7", "minus in an exponent"), taken("1.5e-7", "fraction and exponent"),
        taken("-1.5E+300", "all parts"),
        taken("1e999999", "larger than any double"), taken("-1e999999", "the same below zero"),
        taken("1e-999999", "smaller than any double"),
        taken("123456789012345678901234567890", "more digits than a double keeps"),
        taken("9007199254740993", "no double"), taken("18446744073709551616", "above 64 bits"),
        taken("-9223372036854775809", "below 64 bits"), taken("0.\(times(1_000, "3"))", "a long fraction"),
        taken(times(5_000, "9"), "5,000 digits"), taken("1e\(times(1_000, "0"))1", "a long exponent"),
        taken("[7]", "ended by a bracket"), taken("[7,8]", "ended by a comma"), taken("[1 ]", "ended by a space"),
        taken(#"{"a":-0e-0}"#, "ended by a brace"),
        refused("+1", "plus before"), refused("[+1]", "plus before, inside"), refused("++1", "two signs"),
        refused("--1", "two signs"),
        refused("-", "minus alone"), refused("- 1", "a space behind minus"), refused("-a", "a letter behind minus"),
        refused("1-", "minus behind"), refused("1-2", "a sum"), refused("01", "a zero before"),
        refused("-01", "the same below zero"),
        refused("00", "two zeros"), refused("-00", "the same below zero"), refused("[012]", "octal"),
        refused("0x1F", "hexadecimal"),
        refused("[0xFF]", "hexadecimal inside"), refused("0b1", "binary"), refused("0o7", "octal by its letter"),
        refused(".5", "no digit before the point"), refused("-.5", "no digit behind minus"),
        refused("1.", "no digit behind the point"),
        refused("[1.]", "the same inside"), refused("1.e5", "no digit between point and exponent"),
        refused("0.e1", "the same at zero"),
        refused("1..5", "two points"), refused("1.2.3", "two points"), refused("1.-5", "minus behind the point"),
        refused("1e", "no digit in the exponent"), refused("1e+", "a sign alone in the exponent"),
        refused("[1e-]", "the same inside"),
        refused("0E", "no digit behind E"), refused("1ee5", "two letters"), refused("1eE5", "two letters"),
        refused("1e5.5", "a fraction in the exponent"), refused("1e++5", "two signs in the exponent"),
        refused("1 e5", "a space"),
        refused("1e 5", "a space in the exponent"), refused("1 000", "a space between digits"),
        refused("1_000", "a line between digits"),
        refused("1'000", "a mark between digits"), refused("[1,5,]", "a comma behind"),
        refused("1f", "a letter behind"),
        refused("1n", "a letter behind"), refused("1L", "a letter behind"), refused("1.5d", "a letter behind"),
        refused("1a", "a letter"),
        refused("NaN", "no number of JSON"), refused("-NaN", "the same"), refused("[NaN]", "the same inside"),
        refused("Infinity", "no number of JSON"), refused("-Infinity", "the same"),
        refused("[-Infinity]", "the same inside"),
        refused("Inf", "the same, short"), refused("1/2", "a quotient"), refused("$1", "a mark before"),
        refused("1%", "a mark behind"),
        refused("\u{661}", "an Arabic digit"), refused("\u{FF11}", "a wide digit"),
        refused("1\u{FF11}", "a wide digit behind"),
        refused("\u{2212}1", "U+2212 is no minus"), refused("1\u{0}", "a zero byte behind"),
        refused("1,5", "a comma for a point"),
    ]
}
