import Configuration
import Testing

struct URLTests {
    @Test(arguments: [
        ("https://Collect.Example/v1/e?x=1", "collect.example", 443, "/v1/e?x=1"),
        ("https://collect.example", "collect.example", 443, "/"),
        ("https://collect.example:8443?x", "collect.example", 8_443, "/?x"),
        ("http://127.0.0.1:8080/", "127.0.0.1", 8_080, "/"), ("http://[::1]:80/", "::1", 80, "/"),
        ("http://localhost/", "localhost", 80, "/"), ("HTTPS://a.b./x", "a.b.", 443, "/x"),
        ("https://[2001:DB8::1]/", "2001:db8::1", 443, "/"),
    ])
    func parts(_ text: String, _ host: String, _ port: Int, _ target: String) throws {
        let one = try configuration("[Destination \"a\"]\nURL=\(text)").destinations[0]
        let url = try #require(one.url)
        #expect(url.host == host && url.port == port && url.target == target && url.text == text)
        #expect(url.socketPath == nil)
    }

    @Test func unixSockets() throws {
        let one = try configuration("[Destination \"a\"]\nURL=http+unix://%2Frun%2Fx.sock/path").destinations[0]
        #expect(one.url?.socketPath == "/run/x.sock")
        #expect(one.url?.target == "/path")
        #expect(one.url?.isLocal == true)
    }

    @Test(arguments: [
        ("collect.example/v1", 5), ("ftp://a/", 5), ("https://", 13), ("https:///x", 13), ("https://a b/", 5),
        ("https://u:p@a/", 13), ("https://a/#x", 15), ("https://a:0/", 15), ("https://a:65536/", 15),
        ("https://a:x/", 15),
        ("https://[::1/", 13), ("https://[1.2.3.4]/", 14), ("https://1.2.3/", 13), ("https://1.2.3.400/", 13),
        ("https://-a/", 13), ("https://a..b/", 13), ("http+unix://run/x", 17), ("http+unix://%2/x", 17),
        ("https://\u{e9}.example/", 5), ("https://:443/", 13),
    ])
    func notURLs(_ text: String, _ column: Int) {
        let found = problems("[Destination \"a\"]\nURL=\(text)")
        #expect(found.count == 1 && found[0].hasPrefix("f:2:\(column): error: URL=: "), "\(text): \(found)")
    }

    @Test(arguments: ["collect.example", "192.0.2.1", "[2001:db8::1]", "localhost.example", "127.example"])
    func plainHTTPIsForThisMachineOnly(_ host: String) throws {
        let text = "[Destination \"a\"]\nURL=http://\(host)/\n"
        #expect(problems(text).count == 1)
        #expect(problems(text).first?.hasPrefix("f:2:5: error: URL=: plain http to ") == true)
        #expect(problems(text + "PlainHTTP=yes").count == 1)
        #expect(problems(text + "PlainHTTP=yes\nExpectHeader=X-Up").isEmpty)
    }
}
