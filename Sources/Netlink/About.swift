// Netlink: rtnetlink messages as bytes, and the multicast and query sockets that carry them.
//
// May import: CLinux, Bytes, Posix.
