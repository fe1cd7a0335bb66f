// Daemon: the composition root: the coordinator, the threads, start, reload, stop.
//
// May import: Bytes, Time, JSON, HTTP1, Posix, Reactor, Resolver, Netlink, Reachability, Gates, Queue, Intake,
// Delivery, HTTPTransport, HTTPServer, Control, Configuration, SystemdService, Version.
