// Simulator: test support: the same machines on one thread, in virtual time, with faults by seed.
//
// May import: Bytes, Time, Posix, Reachability, Gates, Queue, Delivery, Daemon.
