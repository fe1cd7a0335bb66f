import Delivery
import Testing

struct SettingsTests {
    @Test(arguments: [
        ("https://Example.org", "https", "example.org", UInt16(443), "/"),
        ("http://127.0.0.1:8080/v1?a=b", "http", "127.0.0.1", 8080, "/v1?a=b"),
        ("https://[2001:db8::1]:444/x/y", "https", "2001:db8::1", 444, "/x/y"),
        ("HTTPS://a_b-c.de?q", "https", "a_b-c.de", 443, "/?q"),
        ("http+unix://%2Frun%2Fx.sock/path", "http+unix", "/run/x.sock", 0, "/path"),
    ])
    func takesURLsApart(text: String, scheme: String, host: String, port: UInt16, path: String) throws {
        let url = try DestinationURL(text)
        #expect(url.scheme.rawValue == scheme)
        #expect(url.host == host)
        #expect(url.port == port)
        #expect(url.path == path)
        #expect(try DestinationURL(url.text) == url)
    }

    @Test(arguments: [
        "", "example.org", "ftp://a/", "https://", "https:///x", "https://a:0/", "https://a:65536/", "https://a:b/",
        "https://u:p@a/", "https://a/#f", "https://a b/", "https://[::1/", "https://[1.2.3.4]/", "https://a:/x",
        "http+unix:///path", "http+unix://run/x", "http+unix://%2/x", "http+unix://%2Fa%00/x", "https://ä/",
        "http+unix://%2F" + String(repeating: "x", count: 107) + "/",
    ])
    func refusesOtherURLs(text: String) {
        #expect(throws: DeliveryError.url(text)) { try DestinationURL(text) }
    }

    @Test(arguments: [
        ("http://localhost/", true), ("http://127.8.9.1/", true), ("http://[::1]/", true),
        ("http+unix://%2Fx/", true), ("http://10.0.0.1/", false), ("http://localhost.example/", false),
    ])
    func knowsTheOwnMachine(text: String, isLocal: Bool) throws {
        #expect(try DestinationURL(text).isLocal == isLocal)
    }

    @Test func plainHTTPElsewhereNeedsBothPromises() throws {
        var settings = DestinationSettings(name: "a", url: try DestinationURL("http://collector.example/"))
        #expect(throws: DeliveryError.plainHTTP("http://collector.example:80/")) { try settings.check() }
        settings.allowsPlainHTTP = true
        #expect(throws: DeliveryError.plainHTTP("http://collector.example:80/")) { try settings.check() }
        settings.expectHeader = try DestinationSettings.ExpectedHeader("X-Collector: yes")
        try settings.check()
    }

    @Test func rangesAreHeld() throws {
        let good = DestinationSettings(name: "a", url: try DestinationURL("https://a/"))
        try good.check()
        let changes: [(String, (inout DestinationSettings) -> Void)] = [
            ("BatchMaxEvents", { $0.batchMaximumEvents = 0 }), ("BatchMaxSize", { $0.batchMaximumBytes = 1_023 }),
            ("Compression", { $0.gzipLevel = 10 }), ("ConnectTimeout", { $0.connectTimeout = .zero }),
            ("Timeout", { $0.timeout = .seconds(-1) }), ("RetryMin", { $0.retryMinimum = .zero }),
            ("RetryMax", { $0.retryMaximum = .milliseconds(1) }),
            ("FlushSpread", { $0.flushSpread = .fixed(.seconds(-1)) }),
        ]
        for (name, change) in changes {
            var settings = good
            change(&settings)
            #expect(throws: DeliveryError.range(name)) { try settings.check() }
        }
    }

    @Test func headersAreReadAndGuarded() throws {
        let field = try HeaderField("X-Key:  a: b ")
        #expect(field == HeaderField(name: "X-Key", value: "a: b"))
        for bad in ["", ":", "X-Key", "X-Key:", "X Key: a", "X-Key: a\r\nEvil: b", "Content-Length: 5", "host: a"] {
            #expect(throws: DeliveryError.header(bad)) { try HeaderField(bad) }
        }
        #expect(try DestinationSettings.ExpectedHeader("X-Collector").value == nil)
        #expect(try DestinationSettings.ExpectedHeader("X-Collector: 1").value == "1")
    }
}
