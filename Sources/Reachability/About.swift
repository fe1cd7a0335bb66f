// Reachability: what is known of the way to a destination, and when to check it; pure.
//
// May import: Bytes, Time, Netlink.
