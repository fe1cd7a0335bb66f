#define _GNU_SOURCE
#include "CLinux.h"
#include "retry.h"

#include <grp.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

static int unix_address(const char *path, struct sockaddr_un *to) {
    memset(to, 0, sizeof *to);
    to->sun_family = AF_UNIX;
    if (strlen(path) >= sizeof to->sun_path) return -ENAMETOOLONG;
    strcpy(to->sun_path, path);
    return 0;
}

int cl_socket_unix(void) { return RETRY(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)); }

int cl_bind_unix(int fd, const char *path) {
    struct sockaddr_un address;
    int failed = unix_address(path, &address);
    if (failed) return failed;
    return RETRY(bind(fd, (struct sockaddr *)&address, sizeof address));
}

int cl_connect_unix(int fd, const char *path) {
    struct sockaddr_un address;
    int failed = unix_address(path, &address);
    if (failed) return failed;
    return RETRY(connect(fd, (struct sockaddr *)&address, sizeof address));
}

int cl_socket_tcp4(void) {
    int fd = RETRY(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    int on = 1;
    if (fd >= 0) setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    return fd;
}

int cl_bind_tcp4(int fd, uint32_t address, uint16_t port) {
    struct sockaddr_in to;
    memset(&to, 0, sizeof to);
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(address);
    to.sin_port = htons(port);
    return RETRY(bind(fd, (struct sockaddr *)&to, sizeof to));
}

int cl_begin_tcp(const uint8_t *address, int length, uint16_t port) {
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    int is_four = length == 4;
    memcpy(is_four ? (void *)&four.sin_addr : (void *)&six.sin6_addr, address, is_four ? 4 : 16);
    int fd = RETRY(socket(is_four ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (fd < 0) return fd;
    int failed = is_four ? RETRY(connect(fd, (struct sockaddr *)&four, sizeof four))
                        : RETRY(connect(fd, (struct sockaddr *)&six, sizeof six));
    if (failed == 0 || failed == -EINPROGRESS) return fd;
    close(fd);
    return failed;
}

int cl_take_error(int fd) {
    int error = 0;
    socklen_t length = sizeof error;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) < 0) return -errno;
    return -error;
}

int cl_local_port(int fd) {
    struct sockaddr_in to;
    socklen_t length = sizeof to;
    if (getsockname(fd, (struct sockaddr *)&to, &length) < 0) return -errno;
    return ntohs(to.sin_port);
}

int cl_listen(int fd, int backlog) { return RETRY(listen(fd, backlog)); }
int cl_accept(int fd) { return RETRY(accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)); }
int64_t cl_send(int fd, const void *from, size_t count) { return RETRY(send(fd, from, count, MSG_NOSIGNAL)); }
int64_t cl_recv(int fd, void *to, size_t count) { return RETRY(recv(fd, to, count, 0)); }
int cl_shutdown_write(int fd) { return shutdown(fd, SHUT_WR) < 0 ? -errno : 0; }

int cl_peer(int fd, uint32_t *pid, uint32_t *uid, uint32_t *gid) {
    struct ucred peer;
    socklen_t length = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) < 0) return -errno;
    *pid = (uint32_t)peer.pid;
    *uid = peer.uid;
    *gid = peer.gid;
    return 0;
}

int cl_is_listening_unix(int fd) {
    int domain = 0, type = 0, listening = 0;
    socklen_t length = sizeof(int);
    if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &length) < 0) return -errno;
    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) < 0) return -errno;
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &length) < 0) return -errno;
    return domain == AF_UNIX && type == SOCK_STREAM && listening;
}

int cl_set_blocking(int fd, int blocking) {
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0) return -errno;
    flags = blocking ? flags & ~O_NONBLOCK : flags | O_NONBLOCK;
    return fcntl(fd, F_SETFL, flags) < 0 ? -errno : 0;
}

int cl_set_cloexec(int fd) { return fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 ? -errno : 0; }

int cl_group_id(const char *name, uint32_t *gid) {
    struct group group, *found = NULL;
    char buffer[4096];
    int failed = getgrnam_r(name, &group, buffer, sizeof buffer, &found);
    if (failed) return -failed;
    if (!found) return -ENOENT;
    *gid = group.gr_gid;
    return 0;
}

int cl_group_name(uint32_t gid, char *to, size_t capacity) {
    struct group group, *found = NULL;
    char buffer[4096];
    int failed = getgrgid_r(gid, &group, buffer, sizeof buffer, &found);
    if (failed) return -failed;
    if (!found || strlen(group.gr_name) >= capacity) return -ENOENT;
    strcpy(to, group.gr_name);
    return 0;
}

int cl_netlink_open(int blocking_milliseconds) {
    int type = SOCK_RAW | SOCK_CLOEXEC | (blocking_milliseconds ? 0 : SOCK_NONBLOCK);
    int fd = RETRY(socket(AF_NETLINK, type, NETLINK_ROUTE));
    if (fd < 0) return fd;
    struct sockaddr_nl address;
    memset(&address, 0, sizeof address);
    address.nl_family = AF_NETLINK;
    int failed = RETRY(bind(fd, (struct sockaddr *)&address, sizeof address));
    if (!failed && blocking_milliseconds) {
        struct timeval limit = {blocking_milliseconds / 1000, (blocking_milliseconds % 1000) * 1000};
        if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) < 0) failed = -errno;
    }
    if (failed) {
        close(fd);
        return failed;
    }
    return fd;
}

int cl_netlink_join(int fd, uint32_t group) {
    int value = (int)group;
    return setsockopt(fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &value, sizeof value) < 0 ? -errno : 0;
}

int cl_netlink_receive_buffer(int fd, int bytes) {
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) == 0) return 0;
    return setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes) < 0 ? -errno : 0;
}

int cl_netlink_strict(int fd) {
    int on = 1;
    if (setsockopt(fd, SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof on) < 0) return -errno;
    return setsockopt(fd, SOL_NETLINK, NETLINK_GET_STRICT_CHK, &on, sizeof on) < 0 ? -errno : 0;
}

int64_t cl_netlink_send(int fd, const void *from, size_t count) {
    struct sockaddr_nl kernel;
    memset(&kernel, 0, sizeof kernel);
    kernel.nl_family = AF_NETLINK;
    return RETRY(sendto(fd, from, count, MSG_NOSIGNAL, (struct sockaddr *)&kernel, sizeof kernel));
}

int64_t cl_netlink_receive(int fd, void *to, size_t count, uint32_t *sender, int *truncated) {
    struct sockaddr_nl from;
    struct iovec part = {to, count};
    struct msghdr message;
    memset(&message, 0, sizeof message);
    message.msg_name = &from;
    message.msg_namelen = sizeof from;
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    int64_t received = RETRY(recvmsg(fd, &message, 0));
    if (received < 0) return received;
    *sender = message.msg_namelen >= sizeof from ? from.nl_pid : UINT32_MAX;
    *truncated = (message.msg_flags & MSG_TRUNC) != 0;
    return received;
}
