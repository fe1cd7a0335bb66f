/// Why a message is refused by the parser; the connection is of no use after it.
package enum HTTPError: Error, Hashable, Sendable {
    /// Not HTTP/1.1 (RFC 9112).
    case malformed(String)
    /// More than `HTTPLimits.headBytes`, or `HTTPLimits.fields` fields.
    case headTooLarge
    /// A transfer coding other than `chunked`.
    case unsupportedTransferCoding
    /// A major version other than 1.
    case unsupportedVersion
    /// More bytes than the caller allowed.
    case bodyTooLarge

    /// The status to answer with.
    package var status: Int {
        switch self {
        case .malformed: 400
        case .headTooLarge: 431
        case .unsupportedTransferCoding: 501
        case .unsupportedVersion: 505
        case .bodyTooLarge: 413
        }
    }

    /// What is wrong, in a sentence without a full stop.
    package var detail: String {
        switch self {
        case .malformed(let what): what
        case .headTooLarge: "the head of the request has more than \(HTTPLimits.headBytes) bytes"
        case .unsupportedTransferCoding: "no transfer coding but chunked is understood"
        case .unsupportedVersion: "only HTTP/1.1 and HTTP/1.0 are spoken here"
        case .bodyTooLarge: "the body is too large"
        }
    }
}

/// The bounds of what the parsers take.
package enum HTTPLimits {
    /// The most bytes in a head, its empty line included.
    package static let headBytes = 16_384
    /// The most fields in a head.
    package static let fields = 128
    /// The most bytes in a chunk's size line, extensions included.
    package static let chunkLineBytes = 256
}
