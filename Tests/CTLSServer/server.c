#define _GNU_SOURCE
#include "CTLSServer.h"

#include <fcntl.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

/* Reads one request with its body; 1, or 0 at the end of the connection. */
static int read_request(SSL *ssl) {
    char head[16384];
    size_t count = 0;
    char *end = NULL;
    while (!end) {
        if (count == sizeof head - 1) return 0;
        int got = SSL_read(ssl, head + count, (int)(sizeof head - 1 - count));
        if (got <= 0) return 0;
        count += (size_t)got;
        head[count] = 0;
        end = strstr(head, "\r\n\r\n");
    }
    char *field = strcasestr(head, "\r\ncontent-length:");
    long left = field ? atol(field + 17) : 0;
    left -= (long)(count - (size_t)(end + 4 - head));
    while (left > 0) {
        int got = SSL_read(ssl, head, left < (long)sizeof head ? (int)left : (int)sizeof head);
        if (got <= 0) return 0;
        left -= got;
    }
    return 1;
}

static int serve_one(SSL *ssl, int number, int requests) {
    int answered = 0;
    if (SSL_accept(ssl) != 1) return 0;
    while (answered < requests && read_request(ssl)) {
        char answer[256];
        int count = snprintf(
            answer, sizeof answer,
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection-Number: %d\r\nSession-Reused: %d\r\n\r\nok", number,
            SSL_session_reused(ssl));
        if (SSL_write(ssl, answer, count) != count) break;
        answered++;
    }
    SSL_shutdown(ssl);
    return answered;
}

int ctls_serve(int listener, const char *certificate, const char *key, int connections, int requests) {
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    int answered = 0;
    if (!context || SSL_CTX_use_certificate_chain_file(context, certificate) != 1
        || SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) != 1) {
        SSL_CTX_free(context);
        return -1;
    }
    for (int number = 1; number <= connections; number++) {
        struct pollfd waiting = { .fd = listener, .events = POLLIN };
        if (poll(&waiting, 1, 10000) != 1) break;
        int socket = accept(listener, NULL, NULL);
        if (socket < 0) break;
        struct timeval limit = { .tv_sec = 10 };
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        SSL *ssl = SSL_new(context);
        SSL_set_fd(ssl, socket);
        answered += serve_one(ssl, number, requests);
        SSL_free(ssl);
        close(socket);
    }
    SSL_CTX_free(context);
    return answered;
}
