// ControlClient: the operator's side: uplinkctl's commands and the collector to try with.
//
// May import: Bytes, Time, JSON, HTTP1, Posix, Reactor.
