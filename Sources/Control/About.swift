// Control: the control socket's server: status, metrics, health, commands.
//
// May import: Bytes, Time, JSON, HTTP1, HTTPServer, Posix, Reactor.
