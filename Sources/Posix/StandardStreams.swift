internal import CLinux

/// Standard output and standard error, written at once with write(2), without a buffer.
package enum StandardStream: Int32, Sendable {
    case output = 1
    case error = 2

    /// Writes all of `bytes`, waiting where the stream is non-blocking; EPIPE where nobody reads any more.
    package func write(_ bytes: borrowing [UInt8]) throws(Errno) {
        var done = 0
        while done < bytes.count {
            let result = bytes.withUnsafeBytes { raw -> Int64 in
                guard let base = raw.baseAddress else { return 0 }
                return cl_write(rawValue, base + done, bytes.count - done)
            }
            if result == -Int64(EAGAIN) {
                try checked(cl_poll_writable(rawValue, -1))
            } else {
                done += Int(try checked(result))
            }
        }
    }
}
