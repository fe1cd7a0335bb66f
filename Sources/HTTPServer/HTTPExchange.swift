package import HTTP1

/// A request, and the one answer to it.
package final class HTTPExchange {
    package let head: RequestHead
    package let body: [UInt8]
    private var send: ((Response) -> Void)?

    init(head: RequestHead, body: [UInt8], _ send: @escaping (Response) -> Void) {
        self.head = head
        self.body = body
        self.send = send
    }

    /// Sends the answer; without effect after the first, and once the client is gone.
    package func answer(_ response: Response) {
        let send = self.send
        self.send = nil
        send?(response)
    }
}
