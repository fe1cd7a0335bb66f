import Bytes
import Configuration
import Testing

/// The problems of a file of that text, without the file's name.
func problems(_ text: String) -> [String] {
    Configuration.parse([.init(file: "f", bytes: Array(text.utf8))]).problems.map(\.description)
        .filter { !$0.contains("there is no [Destination") }
}

struct SyntaxTests {
    @Test func commentsBlanksAndLineEndsAreNothing() throws {
        let text = "\u{FEFF}# a\r\n  ; b\n\n[Queue]\r\n  MaxSize = 1G  \r\n[Control]"
        let (configuration, problems) = Configuration.parse([.init(file: "f", bytes: Array(text.utf8))])
        #expect(problems.map(\.severity) == [.warning])
        #expect(try #require(configuration).queue.maximumBytes == 1 << 30)
    }

    @Test(arguments: [
        ("MaxSize=1G", "f:1:1: error: the key 'MaxSize' stands before the first [Section]"),
        ("Bearer s3cret=", "f:1:1: error: the key stands before the first [Section]"),
        ("[Queue]\nMaxSize", "f:2:1: error: this line is neither a [Section], nor Key=Value, nor a comment"),
        ("[Queue]\n  =1G", "f:2:3: error: a key is missing before '='"),
        ("[Queue", "f:1:7: error: a section's line begins with '[' and ends with ']'"),
        ("[", "f:1:2: error: a section's line begins with '[' and ends with ']'"),
        ("[ ]", "f:1:1: error: the section has no name"),
        ("[Queue]\nMaxSize=1\\", "f:2:10: error: a line cannot be continued: write it as one line"),
        ("[Destination main]", "f:1:14: error: the name belongs in double quotes: [Destination \"main\"]"),
        (
            "[Queue]\n[Destination main]\nURL=x",
            "f:2:14: error: the name belongs in double quotes: [Destination \"main\"]"
        ),
        ("[\nURL=x", "f:1:2: error: a section's line begins with '[' and ends with ']'"),
        ("[Destination \"ma\"in\"]", "f:1:14: error: the name belongs in double quotes: [Destination \"main\"]"),
        ("[Destination]", "f:1:2: error: a destination needs a name: [Destination \"main\"]"),
        ("[Destination \"Main\"]", "f:1:2: error: the name 'Main' is not 1 to 32 of a-z, 0-9 and '-'"),
        ("[Queue \"x\"]", "f:1:2: error: [Queue] takes no name"),
        ("[Queue]\nMaxSize=\u{1}", "f:2:1: error: this line is not valid UTF-8, or has control characters"),
    ])
    func malformedLinesAreNamedWithTheirPlace(_ text: String, _ message: String) {
        #expect(problems(text) == [message])
    }

    @Test func badUTF8IsAnError() {
        let bytes = Array("[Queue]\nMaxSize=".utf8) + [0xFF, 10] + Array("Block=auto".utf8)
        let found = Configuration.parse([.init(file: "f", bytes: bytes)]).problems
        #expect(found.contains { $0.description.hasPrefix("f:2:1: error: this line is not valid UTF-8") })
    }

    @Test(arguments: [
        (
            "[Queu]\nMaxSize=x",
            "f:1:2: warning: unknown section [Queu]: what is in it has no effect; did you mean [Queue]?"
        ),
        ("[Wether]\na=b", "f:1:2: warning: unknown section [Wether]: what is in it has no effect"),
        (
            "[Queue]\nMaxsize=1G",
            "f:2:1: warning: unknown key 'Maxsize' in [Queue] has no effect; did you mean MaxSize=?"
        ),
        (
            "[Queue]\nCheckInterval=1s",
            "f:2:1: warning: unknown key 'CheckInterval' in [Queue] has no effect; it belongs in [Reachability]"
        ),
        ("[Queue]\nWeather=fine", "f:2:1: warning: unknown key 'Weather' in [Queue] has no effect"),
        ("[Queue]\nBearer s3cret==", "f:2:1: warning: unknown key in [Queue] has no effect"),
    ])
    func unknownNamesAreWarnings(_ text: String, _ message: String) {
        #expect(problems(text) == [message])
    }

    @Test func everyProblemIsCollectedInOrder() {
        let text = "[Queue]\nMaxSize=lots\nBlock = 7\n[Intake]\nIdleTimeout=soon\n"
        #expect(
            problems(text) == [
                "f:2:9: error: MaxSize=: 'lots' is not a size: write a number and one of K, M, G, T (times 1024), "
                    + "such as 512M",
                "f:3:9: error: Block=: 7 is out of range: from 512 to 64K",
                "f:5:13: error: IdleTimeout=: 'soon' is not a span of time: write numbers with ms, s, min, h, d or w, "
                    + "such as 30s or 1h 30min",
            ])
    }

    @Test func thereIsALimitToProblems() {
        let found = problems("[Queue]\n" + String(repeating: "MaxSize=x\n", count: 1_000))
        #expect(found.count == 201)
        #expect(found.last?.hasSuffix("800 more errors are not shown") == true)
    }

    /// Any bytes end in a configuration or in at least one error, and places lie inside the file.
    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func anyBytesAreBorne(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let pieces = [
            "[", "]", "\"", "=", "\n", " ", "Queue", "Destination", "main", "URL", "http://", "%", "5", "\u{e9}",
        ]
        var bytes: [UInt8] = []
        for _ in 0..<400 {
            let choice = Int(random.next() % UInt64(pieces.count + 1))
            if choice < pieces.count {
                bytes += Array(pieces[choice].utf8)
            } else {
                bytes.append(UInt8(random.next() & 255))
            }
        }
        let (configuration, found) = Configuration.parse([.init(file: "f", bytes: bytes)])
        let lines = bytes.split(separator: 10, omittingEmptySubsequences: false)
        #expect((configuration == nil) == found.contains { $0.severity == .error }, "seed \(seed)")
        for problem in found {
            #expect((1...lines.count).contains(problem.origin.line), "seed \(seed)")
            #expect(!problem.description.utf8.contains(10), "seed \(seed)")
        }
    }
}
