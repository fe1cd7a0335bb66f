#define _GNU_SOURCE
#include "CSystemd.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-daemon.h>
#include <systemd/sd-journal.h>

/* sd_notify waits while the manager's queue is full: look first, on a socket connected to it. */
static int notify_would_block(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(path);
    if (length < 2 || (path[0] != '/' && path[0] != '@') || length >= sizeof address.sun_path)
        return 0;
    memcpy(address.sun_path, path, length);
    if (path[0] == '@')
        address.sun_path[0] = 0;
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + (path[0] == '/'));
    int result = 0;
    if (connect(fd, (struct sockaddr *)&address, size) == 0) {
        struct pollfd ready = {.fd = fd, .events = POLLOUT};
        result = poll(&ready, 1, 0) == 1 && (ready.revents & POLLOUT) ? 0 : -EAGAIN;
    } else {
        result = -errno;
    }
    close(fd);
    return result;
}

/* Kept so that a sign of life can still be given when clients hold all other descriptors. */
static int spare = -1;

int cs_notify(const char *state) {
    const char *path = getenv("NOTIFY_SOCKET");
    if (!path)
        return 0;
    if (spare >= 0)
        close(spare);
    int result = notify_would_block(path);
    if (result == 0)
        result = sd_notify(0, state);
    spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return result;
}

int64_t cs_watchdog_microseconds(void) {
    uint64_t interval = 0;
    int result = sd_watchdog_enabled(0, &interval);
    return result > 0 ? (int64_t)interval : result;
}

int cs_passed_descriptors(void *context, void (*each)(void *context, int fd, const char *name)) {
    char **names = NULL;
    int count = sd_listen_fds_with_names(1, &names);
    for (int index = 0; index < count; index++)
        each(context, SD_LISTEN_FDS_START + index, names && names[index] ? names[index] : "");
    for (char **name = names; name && *name; name++)
        free(*name);
    free(names);
    return count;
}

int cs_journal_send(const uint8_t *fields, const size_t *lengths, size_t count) {
    struct iovec parts[32];
    if (count == 0 || count > sizeof parts / sizeof parts[0])
        return -EINVAL;
    for (size_t index = 0; index < count; index++) {
        parts[index].iov_base = (void *)fields;
        parts[index].iov_len = lengths[index];
        fields += lengths[index];
    }
    return sd_journal_sendv(parts, (int)count);
}
