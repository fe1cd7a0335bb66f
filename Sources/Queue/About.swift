// Queue: the durable log, cursors and ledger; decisions are pure, I/O goes through `Storage`.
//
// May import: Bytes, Time, Posix, Reachability, Gates.
