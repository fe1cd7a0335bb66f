// uplinkd: the daemon's entry.
//
// May import: Daemon, Posix.
