// HTTPTransport: requests over libcurl's multi interface; the only module that sees libcurl.
//
// May import: CCurl, CZlib, Bytes, Time, Posix, Reactor, Reachability, Delivery.
