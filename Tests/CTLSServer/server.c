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

static SSL_CTX *make_context(const char *certificate, const char *key) {
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    if (context && SSL_CTX_use_certificate_chain_file(context, certificate) == 1
        && SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) == 1) return context;
    SSL_CTX_free(context);
    return NULL;
}

/* The next connection, -1 where none comes within 10 s. */
static int next_connection(int listener) {
    struct pollfd waiting = { .fd = listener, .events = POLLIN };
    struct timeval limit = { .tv_sec = 10 };
    if (poll(&waiting, 1, 10000) != 1) return -1;
    int socket = accept(listener, NULL, NULL);
    if (socket >= 0) {
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    }
    return socket;
}

int ctls_serve(int listener, const char *certificate, const char *key, int connections, int requests) {
    SSL_CTX *context = make_context(certificate, key);
    int answered = 0;
    if (!context) return -1;
    for (int number = 1; number <= connections; number++) {
        int socket = next_connection(listener);
        if (socket < 0) break;
        SSL *ssl = SSL_new(context);
        SSL_set_fd(ssl, socket);
        answered += serve_one(ssl, number, requests);
        SSL_free(ssl);
        close(socket);
    }
    SSL_CTX_free(context);
    return answered;
}

static int choose_http2(
    SSL *ssl, const unsigned char **chosen, unsigned char *length, const unsigned char *offered, unsigned int count,
    void *context) {
    (void)ssl, (void)offered, (void)count, (void)context;
    *chosen = (const unsigned char *)"h2";
    *length = 2;
    return SSL_TLSEXT_ERR_OK;
}

long ctls_flood(
    int listener, const char *certificate, const char *key, const uint8_t *piece, size_t count, long most) {
    SSL_CTX *context = make_context(certificate, key);
    char ignored[65536];
    long written = 0;
    if (!context) return -1;
    SSL_CTX_set_alpn_select_cb(context, choose_http2, NULL);
    int socket = next_connection(listener);
    SSL *ssl = SSL_new(context);
    SSL_set_fd(ssl, socket);
    if (socket >= 0 && SSL_accept(ssl) == 1) {
        while (written < most && SSL_write(ssl, piece, (int)count) == (int)count) {
            written += (long)count;
            /* What the client acknowledges must not fill its buffers. */
            while (recv(socket, ignored, sizeof ignored, MSG_DONTWAIT) > 0) {}
        }
    }
    SSL_free(ssl);
    close(socket);
    SSL_CTX_free(context);
    return written;
}
