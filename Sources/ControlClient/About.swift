// ControlClient: the operator's side: uplinkctl's commands and the collector to try with.
//
// May import: CZlib, Bytes, Time, JSON, HTTP1, HTTPServer, Posix, Reactor, Queue, Configuration.
