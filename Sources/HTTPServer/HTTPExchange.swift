package import HTTP1

/// A request, and the one answer to it.
package final class HTTPExchange {
    package let head: RequestHead
    package let body: [UInt8]
    private var send: ((Response) -> Void)?
    private let begin: (String) -> HTTPStream?

    init(
        head: RequestHead, body: [UInt8], begin: @escaping (String) -> HTTPStream?,
        _ send: @escaping (Response) -> Void
    ) {
        self.head = head
        self.body = body
        self.begin = begin
        self.send = send
    }

    /// Sends the answer; without effect after the first, and once the client is gone.
    package func answer(_ response: Response) {
        let send = self.send
        self.send = nil
        send?(response)
    }

    /// Begins an answer 200 of that type without an end, instead of `answer`; nil once the client is gone.
    package func answerStream(contentType: String) -> HTTPStream? {
        guard send != nil else { return nil }
        send = nil
        return begin(contentType)
    }
}
