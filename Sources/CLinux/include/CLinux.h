/* CLinux: the Linux interfaces that Swift's Glibc module lacks, or imports unevenly.
 *
 * Every call returns a result that is zero or positive, or the negated errno: Swift never reads `errno`, which the
 * runtime may change between the call and the look. Constants are typed here once.
 */
#ifndef CLINUX_H
#define CLINUX_H

#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <time.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/nexthop.h>
#include <linux/fib_rules.h>

/* ---- files ---- */

static const int32_t CL_TYPE_REGULAR = 0;
static const int32_t CL_TYPE_DIRECTORY = 1;
static const int32_t CL_TYPE_SOCKET = 2;
static const int32_t CL_TYPE_OTHER = 3;

typedef struct {
    int64_t size;            /* bytes */
    int64_t allocated;       /* bytes on disk, as `du` counts */
    uint64_t device;
    uint64_t inode;
    uint32_t device_major;
    uint32_t device_minor;
    uint32_t mode;           /* permission bits */
    uint32_t owner;
    uint32_t group;
    int32_t type;            /* CL_TYPE_* */
} cl_status;

typedef struct {
    uint64_t total;          /* bytes */
    uint64_t available;      /* bytes that an unprivileged process may use */
    uint64_t files;          /* inodes that it may use; UINT64_MAX where the file system sets no limit */
    uint32_t read_only;
} cl_space;

int cl_open(const char *path, int flags, uint32_t mode);
int cl_close(int fd);
int64_t cl_read(int fd, void *to, size_t count);
int64_t cl_write(int fd, const void *from, size_t count);
int64_t cl_pread(int fd, void *to, size_t count, int64_t offset);
int64_t cl_pwrite(int fd, const void *from, size_t count, int64_t offset);
/* Where the next bytes at or behind `offset` are that are no hole; -ENXIO where there are none. */
int64_t cl_seek_data(int fd, int64_t offset);
int cl_fdatasync(int fd);
int cl_allocate(int fd, int64_t size);
int cl_punch_hole(int fd, int64_t offset, int64_t length);
int cl_fsync(int fd);
int cl_truncate(int fd, int64_t size);
int cl_rename(const char *from, const char *to);
int cl_unlink(const char *path);
int cl_mkdir(const char *path, uint32_t mode);
int cl_rmdir(const char *path);
int cl_chmod(const char *path, uint32_t mode);
int cl_chown(const char *path, uint32_t owner, uint32_t group);
int cl_stat(const char *path, cl_status *to);      /* does not follow a final symbolic link */
int cl_fstat(int fd, cl_status *to);
int cl_statvfs(const char *path, cl_space *to);
int cl_lock_exclusive(int fd);                     /* flock, without waiting: -EWOULDBLOCK if held */
int cl_drop_cache(int fd, int64_t offset, int64_t count);
int cl_no_copy_on_write(int fd);                   /* FS_NOCOW_FL, for btrfs */
/* Calls `each` for every name but "." and ".."; stops when it returns non-zero. */
int cl_list(const char *path, int (*each)(void *context, const char *name), void *context);

/* ---- sockets ---- */

int cl_socket_unix(void);
int cl_bind_unix(int fd, const char *path);
int cl_connect_unix(int fd, const char *path);
int cl_socket_tcp4(void);
int cl_begin_tcp(const uint8_t *address, int length, uint16_t port);   /* a socket that connects; 4 or 16 bytes */
int cl_take_error(int fd);                                      /* SO_ERROR, as -errno */
int cl_bind_tcp4(int fd, uint32_t address, uint16_t port);      /* host byte order */
int cl_local_port(int fd);
int cl_listen(int fd, int backlog);
int cl_accept(int fd);
int64_t cl_send(int fd, const void *from, size_t count);        /* MSG_NOSIGNAL */
int64_t cl_recv(int fd, void *to, size_t count);
int cl_shutdown_write(int fd);
int cl_peer(int fd, uint32_t *pid, uint32_t *uid, uint32_t *gid);
int cl_is_listening_unix(int fd);
int cl_set_blocking(int fd, int blocking);
int cl_set_cloexec(int fd);
int cl_group_id(const char *name, uint32_t *gid);
// The name of a group, with a zero byte, in `to`, which has room for `capacity`.
int cl_group_name(uint32_t gid, char *to, size_t capacity);

/* ---- netlink ---- */

int cl_netlink_open(int blocking_milliseconds);    /* 0: non-blocking; else a receive deadline */
int cl_netlink_join(int fd, uint32_t group);
int cl_netlink_receive_buffer(int fd, int bytes);  /* SO_RCVBUFFORCE, else SO_RCVBUF */
int cl_netlink_strict(int fd);
int64_t cl_netlink_send(int fd, const void *from, size_t count);
/* Bytes received; *sender is the port of the sender, *truncated non-zero when the datagram was longer. */
int64_t cl_netlink_receive(int fd, void *to, size_t count, uint32_t *sender, int *truncated);

/* ---- readiness, signals, time ---- */

int cl_epoll_create(void);
int cl_epoll_control(int epoll, int operation, int fd, uint32_t events, uint64_t data);
int cl_epoll_wait(int epoll, uint64_t *data, uint32_t *events, int capacity, int timeout_milliseconds);
int cl_eventfd(void);
int cl_signalfd(const int *signals, int count);    /* blocks them in this thread, too */
int cl_signal_next(int fd);                        /* the signal's number */
int cl_ignore_sigpipe(void);
int cl_ignore_sigxfsz(void);
int cl_kill(int pid, int signal);
void cl_end_after_trace(void);
int64_t cl_clock(int clock);                       /* nanoseconds */
int cl_clock_synchronised(void);
/* Until CLOCK_MONOTONIC has come to `deadline`, nanoseconds: -ETIMEDOUT then. */
int cl_semaphore_wait(sem_t *semaphore, int64_t deadline);
void cl_sleep_nanoseconds(int64_t nanoseconds);
int cl_random(void *to, size_t count);
int cl_poll_readable(int fd, int timeout_milliseconds);
int cl_poll_writable(int fd, int timeout_milliseconds);
int cl_thread_name(const char *name);
/* Raises the soft RLIMIT_NOFILE to `wanted`, as far as the hard one lets it; returns what it is then. */
int64_t cl_raise_descriptor_limit(int64_t wanted);
void cl_limit_arenas(int arenas);
void cl_trim_heap(void);
int64_t cl_resident_bytes(void);
void cl_exit(int status);                          /* _exit: no atexit handlers */

/* ---- names ---- */

typedef struct {
    int32_t family;          /* 4 or 6 */
    uint8_t bytes[16];
} cl_address;

/* getaddrinfo, stream sockets only: the number of addresses, or the negated EAI_* code less 1000. */
int cl_resolve(const char *host, cl_address *to, int capacity);
static const int CL_RESOLVE_AGAIN = -1003;         /* EAI_AGAIN: no name server answered */
const char *cl_resolve_error(int code);
const char *cl_errno_name(int code);
const char *cl_errno_text(int code);

static const uint32_t CL_EPOLLIN = EPOLLIN;
static const uint32_t CL_EPOLLOUT = EPOLLOUT;
static const uint32_t CL_EPOLLERR = EPOLLERR;
static const uint32_t CL_EPOLLHUP = EPOLLHUP;
static const uint32_t CL_EPOLLRDHUP = EPOLLRDHUP;
static const uint32_t CL_EPOLLET = EPOLLET;
static const int32_t CL_EPOLL_ADD = EPOLL_CTL_ADD;
static const int32_t CL_EPOLL_MODIFY = EPOLL_CTL_MOD;
static const int32_t CL_EPOLL_REMOVE = EPOLL_CTL_DEL;
static const int32_t CL_O_RDONLY = O_RDONLY | O_CLOEXEC;
static const int32_t CL_O_RDWR = O_RDWR | O_CLOEXEC;
static const int32_t CL_O_CREATE = O_CREAT;
static const int32_t CL_O_EXCLUSIVE = O_EXCL;
static const int32_t CL_O_TRUNCATE = O_TRUNC;
static const int32_t CL_O_APPEND = O_APPEND;
static const int32_t CL_O_DIRECTORY = O_DIRECTORY;
static const int32_t CL_O_NOFOLLOW = O_NOFOLLOW;
static const int32_t CL_O_NONBLOCK = O_NONBLOCK;
static const int32_t CL_CLOCK_MONOTONIC = CLOCK_MONOTONIC;
static const int32_t CL_CLOCK_BOOTTIME = CLOCK_BOOTTIME;
static const int32_t CL_CLOCK_REALTIME = CLOCK_REALTIME;

#endif
