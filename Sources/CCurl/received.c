#include "CCurl.h"

#include <linux/tcp.h>   /* glibc's netinet/tcp.h knows a shorter tcp_info */
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

uint64_t ccurl_received_count(curl_socket_t socket) {
    struct tcp_info info;
    socklen_t length = sizeof info;
    memset(&info, 0, sizeof info);
    return getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &length) == 0 ? info.tcpi_bytes_received : 0;
}
