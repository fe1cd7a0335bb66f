internal import CZlib

/// Why compressed bytes cannot be read.
enum GzipError: Error, Equatable {
    case malformed
    /// More than the limit when decompressed.
    case tooLarge
}

/// Reads gzip (RFC 1952) and zlib (RFC 1950).
enum Gzip {
    /// The decompressed bytes, of all members one after another.
    static func decompress(_ bytes: [UInt8], limit: Int) throws(GzipError) -> [UInt8] {
        var stream = unsafe z_stream()
        let eitherHeader: Int32 = 32 + MAX_WBITS
        guard
            unsafe inflateInit2_(&stream, eitherHeader, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK
        else { throw .malformed }
        defer { unsafe inflateEnd(&stream) }
        var output: [UInt8] = []
        var taken = 0
        var result = Z_OK
        while result == Z_OK || (result == Z_STREAM_END && taken < bytes.count) {
            if result == Z_STREAM_END, unsafe inflateReset(&stream) != Z_OK { throw .malformed }
            result = unsafe step(&stream, bytes, &taken, &output)
            guard output.count <= limit else { throw .tooLarge }
        }
        guard result == Z_STREAM_END else { throw .malformed }
        return output
    }

    /// Decompresses up to 64 KiB more; zlib's result, an error where nothing moves.
    private static func step(
        _ stream: inout z_stream, _ bytes: [UInt8], _ taken: inout Int, _ output: inout [UInt8]
    ) -> Int32 {
        let room = 65_536
        let start = output.count
        output.append(contentsOf: repeatElement(0, count: room))
        let (result, left) = unsafe bytes.withUnsafeBufferPointer { source -> (Int32, UInt32) in
            unsafe output.withUnsafeMutableBufferPointer { target -> (Int32, UInt32) in
                unsafe stream.next_in = UnsafeMutablePointer(mutating: source.baseAddress.map { unsafe $0 + taken })
                unsafe stream.avail_in = UInt32(bytes.count - taken)
                unsafe stream.next_out = target.baseAddress.map { unsafe $0 + start }
                unsafe stream.avail_out = UInt32(room)
                let result = unsafe inflate(&stream, Z_NO_FLUSH)
                return unsafe (result, stream.avail_in)
            }
        }
        taken = bytes.count - Int(left)
        output.removeLast(Int(unsafe stream.avail_out))
        return result
    }
}
