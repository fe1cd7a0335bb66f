// Posix: system calls with typed errors: files, sockets, epoll, signals, threads, locks, clocks.
//
// May import: CLinux, Bytes, Time, Glibc.
