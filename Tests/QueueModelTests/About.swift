// An executable model of the rules of the queue, on an abstract disk that loses what was not synced. It decides, before
// the real code does, which order of durable steps keeps the promise, and it must find every rule that is broken on
// purpose (`Variant`).
//
// Words as in the queue: log, segment, batch, cursor, slot. Sequence numbers count from 1 in each log.
//
// UPLINKD_MODEL_SEEDS=N runs N seeds; UPLINKD_MODEL_SEED=S runs that one and writes down what it did.
