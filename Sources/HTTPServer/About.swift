// HTTPServer: serves small HTTP/1.1 requests, whole, on an event loop; for the control socket and the collector.
//
// May import: Bytes, Time, HTTP1, Posix, Reactor.
