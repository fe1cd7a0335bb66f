import Bytes
import Testing

struct IPAddressTests {
    @Test(arguments: [
        ("127.0.0.1", "127.0.0.1"), ("255.255.255.255", "255.255.255.255"), ("::", "::"), ("::1", "::1"),
        ("2001:DB8::0:1", "2001:db8::1"), ("fe80::1:0:0:2", "fe80::1:0:0:2"), ("1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8"),
        ("1:0:3:4:5:6:7:8", "1:0:3:4:5:6:7:8"), ("::ffff:192.0.2.1", "::ffff:c000:201"), ("1::", "1::"),
    ])
    func readsAndWrites(text: String, canonical: String) {
        #expect(IPAddress(text: text)?.description == canonical)
    }

    @Test(arguments: [
        "", "1", "1.2.3", "1.2.3.256", "1.2.3.04", "1.2.3.4.5", ":", ":::", "1::2::3", "1:2:3:4:5:6:7", "12345::",
        "::g",
        "1:2:3:4:5:6:7:8::", "host", "1.2.3.4:5",
    ])
    func refuses(text: String) {
        #expect(IPAddress(text: text) == nil)
    }

    @Test func knowsLoopback() {
        let loopbacks = ["127.9.9.9", "::1", "::ffff:127.0.0.1"].map { IPAddress(text: $0)?.isLoopback }
        let others = ["126.0.0.1", "::2", "::ffff:10.0.0.1", "::"].map { IPAddress(text: $0)?.isLoopback }
        #expect(loopbacks == [true, true, true])
        #expect(others == [false, false, false, false])
    }
}
