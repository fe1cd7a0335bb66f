internal import CZlib

/// Compresses one body after another into gzip (RFC 1952), a slice at a time.
///
/// The header's time is zero, so that equal bodies at one level give equal bytes.
@safe
final class GzipEncoder {
    /// 1, fast, to 9, small.
    let level: Int

    private static let outputCount = 65_536
    private let stream: UnsafeMutablePointer<z_stream>
    private let output: UnsafeMutablePointer<UInt8>

    /// Takes 330 KiB until it goes.
    init(level: Int) {
        precondition((1...9).contains(level))
        self.level = level
        unsafe stream = .allocate(capacity: 1)
        unsafe stream.initialize(to: z_stream())
        unsafe output = .allocate(capacity: Self.outputCount)
        let gzipWindowBits: Int32 = 15 + 16
        let failed = unsafe deflateInit2_(
            stream, Int32(level), Z_DEFLATED, gzipWindowBits, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
            Int32(MemoryLayout<z_stream>.size))
        precondition(failed == Z_OK, "zlib does not start")
    }

    deinit {
        unsafe deflateEnd(stream)
        unsafe stream.deallocate()
        unsafe output.deallocate()
    }

    /// Begins a new body.
    func reset() {
        let failed = unsafe deflateReset(stream)
        precondition(failed == Z_OK)
    }

    /// Compresses a part of a body onto the end of `compressed`; `isLast` ends the body.
    func compress(_ body: borrowing [UInt8], _ range: Range<Int>, isLast: Bool, onto compressed: inout [UInt8]) {
        precondition(range.lowerBound >= 0 && range.upperBound <= body.count)
        unsafe body.withUnsafeBufferPointer { bytes in
            unsafe stream.pointee.next_in = unsafe UnsafeMutablePointer(mutating: bytes.baseAddress)?
                .advanced(by: range.lowerBound)
            unsafe stream.pointee.avail_in = UInt32(range.count)
            repeat {
                unsafe stream.pointee.next_out = unsafe output
                unsafe stream.pointee.avail_out = UInt32(Self.outputCount)
                let result = unsafe deflate(stream, isLast ? Z_FINISH : Z_NO_FLUSH)
                precondition(result != Z_STREAM_ERROR)
                let count = unsafe Self.outputCount - Int(stream.pointee.avail_out)
                unsafe compressed.append(contentsOf: UnsafeBufferPointer(start: output, count: count))
            } while unsafe stream.pointee.avail_out == 0
            unsafe stream.pointee.next_in = nil
        }
    }
}
