import Posix

/// What libFuzzer calls with each input; `UPLINKD_FUZZ_TARGET` says what it is fed to.
///
/// The first byte of an input steers: which checksums are put right first (see `Sealing`), or into pieces of what
/// length the rest is cut. Any trap, any report of AddressSanitizer and any broken precondition of the checks is a
/// finding.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: data, count: count))
    guard let first = bytes.first else { return 0 }
    target(first, Array(bytes.dropFirst()))
    return 0
}

private let targets: [String: @Sendable (UInt8, [UInt8]) -> Void] = [
    "segment": { FuzzedSegment.run(Sealing(rawValue: $0), $1) },
    "batch": { FuzzedBatch.run(Sealing(rawValue: $0), $1) },
    "cursors": { FuzzedCursors.run(Sealing(rawValue: $0), $1) },
    "json": { FuzzedJSON.run($1) },
    "configuration": { FuzzedConfiguration.run($0, $1) },
    "arguments": { FuzzedArguments.run($1) },
    "head": { FuzzedHead.run($0, $1) },
    "body": { FuzzedBody.run($0, $1) },
    "session": { FuzzedSession.run($0, $1) },
    "netlink": { FuzzedNetlink.run($1) },
]

private let target: @Sendable (UInt8, [UInt8]) -> Void = {
    guard let name = Process.environment("UPLINKD_FUZZ_TARGET"), let target = targets[name] else {
        preconditionFailure("UPLINKD_FUZZ_TARGET is to be one of \(targets.keys.sorted())")
    }
    return target
}()
