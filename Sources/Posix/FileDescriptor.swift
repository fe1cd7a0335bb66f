internal import CLinux

/// An open file descriptor, closed when its owner goes.
package struct FileDescriptor: ~Copyable, Sendable {
    /// The kernel's number for it.
    package let number: Int32

    /// Takes over an open descriptor.
    package init(taking number: Int32) {
        precondition(number >= 0)
        self.number = number
    }

    deinit { _ = cl_close(number) }

    /// Closes it and reports what the kernel says.
    package consuming func close() throws(Errno) {
        let result = cl_close(number)
        discard self
        try checked(result)
    }

    /// Reads up to `count` bytes onto the end of `buffer`; the number read, 0 at the end of the stream.
    package borrowing func read(upTo count: Int, into buffer: inout [UInt8]) throws(Errno) -> Int {
        try appendUninitialised(to: &buffer, count: count) { cl_read(number, $0, count) }
    }

    /// Writes from part of `bytes`; the number of bytes taken.
    package borrowing func write(_ bytes: borrowing [UInt8], in range: Range<Int>) throws(Errno) -> Int {
        precondition(range.lowerBound >= 0 && range.upperBound <= bytes.count)
        return Int(
            try checked(
                bytes.withUnsafeBytes { raw in
                    raw.baseAddress.map { cl_write(number, $0 + range.lowerBound, range.count) } ?? 0
                }))
    }
}

/// Grows `buffer` by up to `count` bytes that `fill` writes; `fill` returns how many, or a negated errno.
func appendUninitialised(
    to buffer: inout [UInt8], count: Int, _ fill: (UnsafeMutableRawPointer) -> Int64
) throws(Errno) -> Int {
    precondition(count > 0)
    var result: Int64 = 0
    buffer.append(addingCapacity: count) { output in
        output.withUnsafeMutableBufferPointer { raw, initialised in
            guard let base = raw.baseAddress else { return }
            result = fill(base + initialised)
            initialised += Int(max(result, 0))
        }
    }
    return Int(try checked(result))
}
