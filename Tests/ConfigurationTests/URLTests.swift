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

    @Test(arguments: [
        ("http://proxy:3128", "proxy", 3_128, nil, nil, "http://proxy:3128"),
        ("HTTP://[::1]/", "::1", 80, nil, nil, "http://[::1]:80"),
        ("http://till@proxy:80", "proxy", 80, "till", nil, "http://...@proxy:80"),
        ("http://till%207:p%40s:s@@proxy:8080/", "proxy", 8_080, "till 7", "p@s:s@", "http://...@proxy:8080"),
    ])
    func proxies(
        _ text: String, _ host: String, _ port: UInt16, _ user: String?, _ password: String?, _ shown: String
    ) throws {
        let before = try configuration("[Destination \"a\"]\nURL=https://a.example/")
        let after = try configuration("[Destination \"a\"]\nURL=https://a.example/\nProxy=\(text)")
        let proxy = try #require(after.destinations[0].proxy)
        #expect(proxy.host == host && proxy.port == port && proxy.user == user && proxy.password == password)
        #expect(
            Configuration.changes(from: before, to: after).map(\.description)
                == ["[Destination \"a\"] Proxy: (none) -> \(shown)"])
    }

    @Test(arguments: [
        "s3cret@proxy:3128", "https://u:s3cret@proxy:3128", "http://u:s3cret@", "http://u:s3cret@proxy/x",
        "http://u:s3cret@proxy:0", "http://u:s3cret%0d%0a@proxy", "http://u:s3cret%@proxy", "http://:s3cret@proxy",
        "http://u:s3cret", "http://u%3a:s3cret@proxy",
    ])
    func whatIsNoProxyIsRefusedWithoutItsPassword(_ text: String) {
        let found = problems("[Destination \"a\"]\nURL=https://a.example/\nProxy=\(text)")
        #expect(found.count == 1 && !found[0].contains("s3cret"), "\(found)")
    }

    @Test(arguments: ["http://127.0.0.1:8080/", "http+unix://%2Frun%2Fx.sock/"])
    func thisMachineIsNotAskedByAProxy(_ url: String) {
        #expect(problems("[Destination \"a\"]\nURL=\(url)\nProxy=http://127.0.0.1:3128").count == 1)
    }
}
