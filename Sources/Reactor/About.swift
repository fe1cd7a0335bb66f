// Reactor: the event loop of one thread: ready descriptors, timers, and mailboxes from other threads.
//
// May import: Bytes, Posix, Time.
