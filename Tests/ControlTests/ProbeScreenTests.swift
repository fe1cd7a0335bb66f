import JSON
import Testing

@testable import ControlClient

struct ProbeScreenTests {
    private func screen(_ text: String) throws -> String {
        ProbeScreen(try JSONValue(parsing: Array(text.utf8))).lines.joined(separator: "\n")
    }

    @Test func everyStepHasItsLine() throws {
        let report = #"""
            {"destination":"main","url":"https://c.example:443/in","proxy":"http://p:3128","proxy_status":200,
             "dns":{"host":"p","from":"kept","addresses":["192.0.2.1"],"ms":5001,"name_servers":["10.0.0.53"],
             "problem":"no answer"},"routes":[{"address":"192.0.2.1","interface":"eth0","connection_type":"ethernet",
             "gateway":"10.0.0.1","source":"10.0.0.2","kernel":"unicast","problem":null},
             {"address":"2001:db8::1","interface":null,"connection_type":null,"gateway":null,"source":null,
             "kernel":"no route","problem":"no route to 2001:db8::1"}],
             "tcp":[{"address":"192.0.2.1","port":3128,"ms":1.25,"problem":null}],
             "tls":{"protocol":"TLSv1.3","host":"c.example","host_matches":false,"chain":[{"subject":"CN=c",
             "issuer":"CN=ca\u001b[31m","names":"c","valid_from":"2026-01-01T00:00:00.000Z",
             "valid_to":"2027-01-01T00:00:00.000Z"}],"problem":"no alternative name"},
             "http":{"method":"GET","url":"u","status":302,"first_line":"HTTP/1.1 302 Found","location":"http://x/",
             "body":"go","connected_ms":1,"tls_ms":null,"first_byte_ms":2,"ended_ms":3,"problem":null},
             "reason":"tls","next":"Do this."}
            """#
        #expect(
            try screen(report) == #"""
                main: https://c.example:443/in
                  proxy  http://p:3128, which answered 200 to CONNECT
                  DNS    p: 192.0.2.1 in 5 s (name server 10.0.0.53)
                         no answer; the addresses are from before
                  route  192.0.2.1: by eth0 (ethernet) gateway 10.0.0.1 source 10.0.0.2; kernel: unicast
                  route  2001:db8::1: no route to 2001:db8::1; kernel: no route
                  TCP    192.0.2.1 port 3128: connected in 1.3 ms
                  TLS    TLSv1.3, the certificate is not for c.example
                         1 CN=c, from 2026-01-01 to 2027-01-01, issued by CN=ca\u001b[31m
                         no alternative name
                  HTTP   GET: HTTP/1.1 302 Found
                         location http://x/
                         go
                         after its start: connected 1 ms, first byte 2 ms, end 3 ms
                Do this.
                """#)
    }

    @Test(arguments: ["{}", #"{"dns":[],"routes":{},"tcp":[1],"tls":"x","http":{}}"#])
    func aStrangeReportIsShownAsFarAsItGoes(_ text: String) throws { #expect(try !screen(text).isEmpty) }
}
