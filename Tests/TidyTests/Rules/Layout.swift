/// Where files lie.
enum Layout {
    /// Every Swift file lies in a target's folder, every folder is a target, every module says what it is.
    static func check(paths: [String], manifest: Manifest) -> [Finding] {
        var findings: [Finding] = []
        let targets = Array(manifest.modules.keys) + manifest.others
        for path in paths where path != "Package.swift" {
            let parts = path.split(separator: "/").map(String.init)
            let isKnown =
                parts.count > 2
                && (parts[0] == "Sources"
                    ? targets.contains(parts[1]) : parts[0] == "Tests" && manifest.tests.contains(parts[1]))
            if !isKnown { findings.append(Finding(path: path, line: 0, message: "lies in no target's folder")) }
        }
        for module in manifest.modules.keys.sorted() where !paths.contains("Sources/\(module)/About.swift") {
            findings.append(Finding(path: "Sources/\(module)", line: 0, message: "has no About.swift"))
        }
        return findings
    }

    /// The walks of DESIGN, "Rooms": what a reader follows from hand to hand.
    static let walks: [String: [String]] = [
        "one event": [
            "Intake/Listener", "Intake/Session", "HTTP1/RequestReader.swift", "Intake/LineReader.swift",
            "JSON/JSONScanner.swift", "Intake/Admission", "Queue/Log/OpenBatch.swift", "Gates/AcceptContext.swift",
            "Daemon/Threads/DiskThread.swift", "Queue/Log/SegmentWriter.swift", "Intake/Answers",
        ],
        "one request": [
            "Delivery/Destination/Destination.swift", "Gates/Gates.swift", "Daemon/Threads/DiskThread.swift",
            "Queue/Queue+Read.swift", "Delivery/BatchForming.swift", "Delivery/Enrichment.swift", "Delivery/Formats",
            "HTTPTransport/Transfer.swift", "Delivery/AnswerTable.swift", "Queue/Format/CursorSlot.swift",
            "Queue/Queue+Cursors.swift",
        ],
        "one link change": [
            "Netlink/MulticastSocket.swift", "Netlink/Decoder.swift", "Reachability/Settle.swift",
            "Netlink/QuerySocket.swift", "Reachability/PathVerdict.swift", "Reachability/ReachabilityMachine.swift",
            "Gates/Gates.swift", "Delivery/Destination/Destination.swift", "HTTPTransport/Pool.swift",
        ],
    ]

    /// The steps of the walks that are not there.
    static func missingSteps(_ has: (String) -> Bool) -> [Finding] {
        walks.sorted { $0.key < $1.key }.flatMap { walk, steps in
            steps.filter { !has("Sources/" + $0) }.map {
                Finding(path: "Sources/" + $0, line: 0, message: "is a step of the walk '\(walk)', and is missing")
            }
        }
    }
}
