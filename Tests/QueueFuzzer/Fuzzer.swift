import Posix

/// What libFuzzer calls with each input; `UPLINKD_FUZZ_TARGET` says what it is fed to.
///
/// The first byte says which checksums are put right first, see `Sealing`. Any trap, any report of AddressSanitizer and
/// any broken precondition of the checks is a finding.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: data, count: count))
    guard let first = bytes.first else { return 0 }
    target(Sealing(rawValue: first), Array(bytes.dropFirst()))
    return 0
}

private let target: @Sendable (Sealing, [UInt8]) -> Void = {
    switch Process.environment("UPLINKD_FUZZ_TARGET") {
    case "segment": return { FuzzedSegment.run($0, $1) }
    case "batch": return { FuzzedBatch.run($0, $1) }
    case "cursors": return { FuzzedCursors.run($0, $1) }
    default: preconditionFailure("UPLINKD_FUZZ_TARGET is to be segment, batch or cursors")
    }
}()
