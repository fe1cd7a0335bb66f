// Simulator: test support: the same machines on one thread, in virtual time, with faults by seed.
//
// May import: Bytes, Time, Posix, JSON, Resolver, Reachability, Gates, Queue, QueueSimulator, Intake, Delivery,
// Control, Daemon.
