#define _GNU_SOURCE
#include "CLinux.h"

#include <malloc.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/timex.h>
#include <unistd.h>

int cl_epoll_create(void) {
    int fd = epoll_create1(EPOLL_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

int cl_epoll_control(int epoll, int operation, int fd, uint32_t events, uint64_t data) {
    struct epoll_event event;
    event.events = events;
    event.data.u64 = data;
    return epoll_ctl(epoll, operation, fd, &event) < 0 ? -errno : 0;
}

int cl_epoll_wait(int epoll, uint64_t *data, uint32_t *events, int capacity, int timeout_milliseconds) {
    struct epoll_event ready[64];
    if (capacity > 64) capacity = 64;
    int count = epoll_wait(epoll, ready, capacity, timeout_milliseconds);
    if (count < 0) return errno == EINTR ? 0 : -errno;
    for (int i = 0; i < count; i++) {
        data[i] = ready[i].data.u64;
        events[i] = ready[i].events;
    }
    return count;
}

int cl_eventfd(void) {
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return fd < 0 ? -errno : fd;
}

int cl_signalfd(const int *signals, int count) {
    sigset_t set;
    sigemptyset(&set);
    for (int i = 0; i < count; i++) sigaddset(&set, signals[i]);
    int failed = pthread_sigmask(SIG_BLOCK, &set, NULL);
    if (failed) return -failed;
    int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return fd < 0 ? -errno : fd;
}

int cl_signal_next(int fd) {
    struct signalfd_siginfo info;
    ssize_t got = read(fd, &info, sizeof info);
    if (got < 0) return -errno;
    return got == sizeof info ? (int)info.ssi_signo : -EIO;
}

int cl_ignore_sigpipe(void) { return signal(SIGPIPE, SIG_IGN) == SIG_ERR ? -errno : 0; }
int cl_ignore_sigxfsz(void) { return signal(SIGXFSZ, SIG_IGN) == SIG_ERR ? -errno : 0; }
int cl_kill(int pid, int number) { return kill(pid, number) < 0 ? -errno : 0; }

/* What the Swift runtime set for the signals that it traces. */
static struct sigaction tracing[_NSIG];

static void trace_and_end(int number, siginfo_t *about, void *context) {
    tracing[number].sa_sigaction(number, about, context);
    /* A fault comes again by itself. What was sent is sent again, and counts once this has returned. */
    if (about->si_code <= 0) {
        signal(number, SIG_DFL);
        raise(number);
    }
}

void cl_end_after_trace(void) {
    static const int traced[] = {SIGQUIT, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP};
    for (size_t i = 0; i < sizeof traced / sizeof traced[0]; i++) {
        struct sigaction *before = &tracing[traced[i]];
        if (sigaction(traced[i], NULL, before) < 0 || !(before->sa_flags & SA_SIGINFO)) continue;
        struct sigaction after = {.sa_sigaction = trace_and_end, .sa_flags = SA_SIGINFO | SA_ONSTACK};
        sigemptyset(&after.sa_mask);
        sigaction(traced[i], &after, NULL);
    }
}

int64_t cl_clock(int clock) {
    struct timespec at;
    if (clock_gettime(clock, &at) < 0) return -errno;
    return (int64_t)at.tv_sec * 1000000000 + at.tv_nsec;
}

int cl_clock_synchronised(void) {
    struct timex state;
    memset(&state, 0, sizeof state);
    int result = adjtimex(&state);
    return result >= 0 && result != TIME_ERROR && !(state.status & STA_UNSYNC);
}

int cl_semaphore_wait(sem_t *semaphore, int64_t deadline) {
    struct timespec until = {deadline / 1000000000, deadline % 1000000000};
    while (sem_clockwait(semaphore, CLOCK_MONOTONIC, &until) < 0)
        if (errno != EINTR) return -errno;
    return 0;
}

void cl_sleep_nanoseconds(int64_t nanoseconds) {
    struct timespec left = {nanoseconds / 1000000000, nanoseconds % 1000000000};
    while (nanosleep(&left, &left) < 0 && errno == EINTR) {
    }
}

int cl_random(void *to, size_t count) {
    size_t done = 0;
    while (done < count) {
        ssize_t got = getrandom((char *)to + done, count - done, 0);
        if (got < 0 && errno != EINTR) return -errno;
        if (got > 0) done += (size_t)got;
    }
    return 0;
}

int cl_poll_readable(int fd, int timeout_milliseconds) {
    struct pollfd one = {fd, POLLIN, 0};
    int count = poll(&one, 1, timeout_milliseconds);
    if (count < 0) return errno == EINTR ? 0 : -errno;
    return count;
}

int cl_poll_writable(int fd, int timeout_milliseconds) {
    struct pollfd one = {fd, POLLOUT, 0};
    int count = poll(&one, 1, timeout_milliseconds);
    if (count < 0) return errno == EINTR ? 0 : -errno;
    return count;
}

int cl_thread_name(const char *name) { return prctl(PR_SET_NAME, name) < 0 ? -errno : 0; }

int64_t cl_raise_descriptor_limit(int64_t wanted) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0) return -errno;
    if (limit.rlim_cur < (rlim_t)wanted && limit.rlim_cur < limit.rlim_max) {
        rlim_t before = limit.rlim_cur;
        limit.rlim_cur = limit.rlim_max < (rlim_t)wanted ? limit.rlim_max : (rlim_t)wanted;
        if (setrlimit(RLIMIT_NOFILE, &limit) < 0) limit.rlim_cur = before;
    }
    return limit.rlim_cur > INT32_MAX ? INT32_MAX : (int64_t)limit.rlim_cur;
}

void cl_limit_arenas(int arenas) { mallopt(M_ARENA_MAX, arenas); }
void cl_trim_heap(void) { malloc_trim(0); }

int64_t cl_resident_bytes(void) {
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file) return -errno;
    long long total = 0, resident = 0;
    int fields = fscanf(file, "%lld %lld", &total, &resident);
    fclose(file);
    return fields == 2 ? resident * sysconf(_SC_PAGESIZE) : -EIO;
}

void cl_exit(int status) { _exit(status); }

int cl_resolve(const char *host, cl_address *to, int capacity) {
    struct addrinfo hints, *found = NULL;
    memset(&hints, 0, sizeof hints);
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    int failed = getaddrinfo(host, NULL, &hints, &found);
    if (failed) return -1000 - (failed < 0 ? -failed : failed);
    int count = 0;
    for (struct addrinfo *each = found; each && count < capacity; each = each->ai_next) {
        memset(&to[count], 0, sizeof to[count]);
        if (each->ai_family == AF_INET) {
            to[count].family = 4;
            memcpy(to[count].bytes, &((struct sockaddr_in *)each->ai_addr)->sin_addr, 4);
            count++;
        } else if (each->ai_family == AF_INET6) {
            to[count].family = 6;
            memcpy(to[count].bytes, &((struct sockaddr_in6 *)each->ai_addr)->sin6_addr, 16);
            count++;
        }
    }
    freeaddrinfo(found);
    return count;
}

const char *cl_resolve_error(int code) { return gai_strerror(code + 1000); }

const char *cl_errno_name(int code) {
    const char *name = strerrorname_np(code);
    return name ? name : "unknown";
}

const char *cl_errno_text(int code) {
    const char *text = strerrordesc_np(code);
    return text ? text : "unknown error";
}
