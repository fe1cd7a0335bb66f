// Delivery: forms batches, enriches events, judges answers, paces; pure, over a `Transport`.
//
// May import: Bytes, Time, JSON, Reachability, Gates, Queue.
