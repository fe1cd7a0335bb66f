internal import CCurl
internal import Posix

/// Certificates that vouch for destinations, read and ready for use.
///
/// Reading the system's takes 20 to 30 ms: make it on another thread than the loop's.
package final class TrustStore: Sendable {
    /// Where Debian keeps the system's certificates.
    package static let systemPath = "/etc/ssl/certs/ca-certificates.crt"

    /// How many certificates are in it; at least one.
    package let certificateCount: Int
    /// The address of the `ccurl_trust`, which is immutable and for any thread.
    private let address: UInt

    /// The certificates of a PEM text, which may hold other text between them; throws `certificates`.
    package init(pem: [UInt8]) throws(HTTPTransportError) {
        var count: Int32 = 0
        let handle = unsafe pem.withUnsafeBufferPointer { unsafe ccurl_trust_make($0.baseAddress, $0.count, &count) }
        certificateCount = Int(count)
        address = UInt(bitPattern: handle)
        guard address != 0 else { throw .certificates(good: Int(count)) }
    }

    /// The certificates that the system trusts; throws `unreadable` and `certificates`.
    package static func system(path: String = systemPath) throws(HTTPTransportError) -> TrustStore {
        let pem: [UInt8]
        do throws(Errno) {
            pem = try FileSystem.contents(of: path, limit: 16_777_216)
        } catch {
            throw .unreadable(path: path, errno: error)
        }
        return try TrustStore(pem: pem)
    }

    deinit { unsafe ccurl_trust_free(handle) }

    /// For libcurl; lives as long as the store.
    var handle: OpaquePointer? { unsafe OpaquePointer(bitPattern: address) }
}
