internal import CCurl

/// A certificate that is shown to a destination, with its chain and its key, read and ready for use.
package final class ClientIdentity: Sendable {
    /// The address of the `ccurl_identity`, which is immutable and for any thread.
    private let address: UInt

    /// The certificate that a PEM text begins with, those after it as its chain, and a key without a passphrase.
    ///
    /// Throws `clientCertificate`, `clientKey` and `clientPair`.
    package init(certificate: [UInt8], key: [UInt8]) throws(HTTPTransportError) {
        var problem = CCURL_IDENTITY_GOOD
        let handle = unsafe certificate.withUnsafeBufferPointer { certificate in
            unsafe key.withUnsafeBufferPointer { key in
                unsafe ccurl_identity_make(
                    certificate.baseAddress, certificate.count, key.baseAddress, key.count, &problem)
            }
        }
        address = UInt(bitPattern: handle)
        switch problem {
        case CCURL_IDENTITY_CERTIFICATE: throw .clientCertificate
        case CCURL_IDENTITY_KEY: throw .clientKey
        case CCURL_IDENTITY_PAIR: throw .clientPair
        default: return
        }
    }

    deinit { unsafe ccurl_identity_free(handle) }

    /// For libcurl; lives as long as the identity.
    var handle: OpaquePointer? { unsafe OpaquePointer(bitPattern: address) }
}
