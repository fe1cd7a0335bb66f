// Resolver: getaddrinfo on a thread of its own, with a deadline.
//
// May import: Bytes, Posix, Time.
