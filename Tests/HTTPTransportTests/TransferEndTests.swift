import CCurl
import Delivery
import Posix
import Reachability
import Testing

@testable import HTTPTransport

struct TransferEndTests {
    @Test(arguments: [
        (CURLE_COULDNT_RESOLVE_HOST, nil, StateReason.dns),
        (CURLE_OPERATION_TIMEDOUT, nil, .timeout),
        (CURLE_COULDNT_CONNECT, Errno.connectionRefused, .refused),
        (CURLE_COULDNT_CONNECT, .noEntry, .refused),
        (CURLE_COULDNT_CONNECT, .networkUnreachable, .noRoute),
        (CURLE_COULDNT_CONNECT, .hostUnreachable, .noRoute),
        (CURLE_COULDNT_CONNECT, .timedOut, .timeout),
        (CURLE_COULDNT_CONNECT, .connectionReset, .reset),
        (CURLE_COULDNT_CONNECT, .access, .prohibited),
        (CURLE_COULDNT_CONNECT, .permission, .prohibited),
        (CURLE_COULDNT_CONNECT, .invalid, .blackhole),
        (CURLE_COULDNT_CONNECT, .addressNotAvailable, .address),
        (CURLE_SSL_CONNECT_ERROR, nil, .tls),
        (CURLE_SSL_CONNECT_ERROR, .connectionReset, .reset),
        (CURLE_PEER_FAILED_VERIFICATION, nil, .tls),
        (CURLE_SSL_CIPHER, nil, .tls),
        (CURLE_GOT_NOTHING, nil, .reset),
        (CURLE_PARTIAL_FILE, nil, .reset),
        (CURLE_PARTIAL_FILE, .networkUnreachable, .reset),
        (CURLE_SSL_CONNECT_ERROR, .networkUnreachable, .tls),
        (CURLE_RECV_ERROR, .connectionReset, .reset),
        (CURLE_RECV_ERROR, .timedOut, .timeout),
        (CURLE_SEND_ERROR, .brokenPipe, .reset),
        (CURLE_SEND_ERROR, .networkUnreachable, .noRoute),
        (CURLE_UNSUPPORTED_PROTOCOL, nil, .reset),
    ])
    func anEndHasItsReason(code: CURLcode, errno: Errno?, reason: StateReason) {
        let end = TransferEnd(
            code: code, proxyStatus: 0, systemError: errno?.code ?? 0, socketFailure: 0, text: "", certificate: nil,
            verdict: 0, isClockRight: true)
        #expect(end.failure.reason == reason)
        #expect(!end.failure.detail.isEmpty)
    }

    /// Without a descriptor nothing was asked of the other end, whatever libcurl makes of it.
    @Test(arguments: [Errno.tooManyOpenFiles, .tooManyOpenInSystem, .noMemory])
    func aSocketThatCannotBeMadeIsThisMachinesFault(errno: Errno) {
        let end = TransferEnd(
            code: CURLE_COULDNT_CONNECT, proxyStatus: 0, systemError: 0, socketFailure: errno.code,
            text: "Couldn't connect to server", certificate: nil, verdict: 0, isClockRight: true)
        #expect(end.failure.reason == .address)
        #expect(end.failure.detail.hasPrefix("this machine") && end.failure.detail.contains(errno.name))
    }

    @Test func theDetailSaysWhatIsKnown() {
        let end = TransferEnd(
            code: CURLE_PEER_FAILED_VERIFICATION, proxyStatus: 200, systemError: 0, socketFailure: 0, text: "refused",
            certificate: "expired", verdict: 10, isClockRight: true)
        #expect(end.outcome.failure == end.failure)
        #expect(end.failure.detail == "refused (expired)")
    }

    /// Verdicts as X509_verify_cert(3) numbers them: 9 not valid yet, 10 expired, 18 self-signed, 20 unknown issuer; 1
    /// is what libcurl leaves where the name is another.
    @Test(arguments: [(1, true), (9, false), (10, true), (18, true), (19, true), (20, true), (21, true)])
    func aCertificateIsRefusedForWhatNoWaitMends(verdict: Int, isRefused: Bool) {
        func end(_ code: CURLcode, isClockRight: Bool) -> TransferEnd {
            TransferEnd(
                code: code, proxyStatus: 0, systemError: 0, socketFailure: 0, text: "", certificate: nil,
                verdict: verdict,
                isClockRight: isClockRight)
        }
        let code = CURLE_PEER_FAILED_VERIFICATION
        #expect(end(code, isClockRight: true).failure.isCertificateRefused == isRefused)
        #expect(end(code, isClockRight: false).failure.isCertificateRefused == (isRefused && verdict != 10))
        #expect(!end(CURLE_SSL_CONNECT_ERROR, isClockRight: true).failure.isCertificateRefused)
    }
}
