internal import CLinux

/// An error number of a system call (errno(3)).
package struct Errno: Error, Hashable, Sendable, CustomStringConvertible {
    /// The positive number.
    package let code: Int32

    /// The error of that number.
    package init(code: Int32) { self.code = code }

    /// Its name and text: `ENOSPC: No space left on device`.
    package var description: String { "\(name): \(String(cString: cl_errno_text(code)))" }

    /// Its name: `ENOSPC`.
    package var name: String { String(cString: cl_errno_name(code)) }

    package static let permission = Errno(code: EPERM)
    package static let noEntry = Errno(code: ENOENT)
    package static let io = Errno(code: EIO)
    package static let wouldBlock = Errno(code: EAGAIN)
    package static let noAddress = Errno(code: ENXIO)
    package static let noMemory = Errno(code: ENOMEM)
    package static let access = Errno(code: EACCES)
    package static let exists = Errno(code: EEXIST)
    package static let notDirectory = Errno(code: ENOTDIR)
    package static let isDirectory = Errno(code: EISDIR)
    package static let tooManyOpenFiles = Errno(code: EMFILE)
    package static let tooManyOpenInSystem = Errno(code: ENFILE)
    package static let invalid = Errno(code: EINVAL)
    package static let fileTooLarge = Errno(code: EFBIG)
    package static let noSpace = Errno(code: ENOSPC)
    package static let readOnly = Errno(code: EROFS)
    package static let brokenPipe = Errno(code: EPIPE)
    package static let quota = Errno(code: EDQUOT)
    package static let noBuffers = Errno(code: ENOBUFS)
    package static let connectionRefused = Errno(code: ECONNREFUSED)
    package static let connectionReset = Errno(code: ECONNRESET)
    package static let addressNotAvailable = Errno(code: EADDRNOTAVAIL)
    package static let networkUnreachable = Errno(code: ENETUNREACH)
    package static let hostUnreachable = Errno(code: EHOSTUNREACH)
    package static let notSupported = Errno(code: EOPNOTSUPP)
    package static let timedOut = Errno(code: ETIMEDOUT)
}

/// The result of a shim, thrown as `Errno` where it is negative; a bad descriptor or address is a bug and traps.
@discardableResult
func checked<Value: SignedInteger & FixedWidthInteger>(_ result: Value) throws(Errno) -> Value {
    guard result < 0 else { return result }
    let code = Int32(-result)
    precondition(code != EBADF && code != EFAULT, "a bad descriptor or address was passed to the kernel")
    throw Errno(code: code)
}
