// Gates: why not to send now, since when, and the accept context that an event is stored with; pure.
//
// May import: Bytes, Time, Reachability.
