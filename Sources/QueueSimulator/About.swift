// QueueSimulator: test support: a disk in memory that fails by its seed; a model of the queue's rules; and one scenario
// for both the model and the real queue, held against one truth.
//
// The model decides, before the real code does, which order of durable steps keeps the promise, and the scenario must
// find every rule that it breaks on purpose (`Variant`), as it must find those of `Tests/Planted` in the real queue.
// Words as in the queue: log, segment, batch, cursor, slot. Sequence numbers count from 1 in each log.
//
// May import: Bytes, Time, Posix, Reachability, Gates, Queue.
