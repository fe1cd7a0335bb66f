// SystemdService: readiness, watchdog, passed sockets, the journal; one table of notices.
//
// May import: CSystemd, Bytes, Time, Posix.
