/* CTLSServer: a small HTTPS server for tests. */
#ifndef CTLSSERVER_H
#define CTLSSERVER_H

#include <stddef.h>
#include <stdint.h>

/* Accepts `connections` connections, one after another, each within 10 s, and answers every request on them, at most
 * `requests` each, with 200, `Connection-Number` and `Session-Reused`. Returns how many requests it answered, or -1
 * where it could not begin.
 * `certificate` and `key` are paths of PEM files. */
int ctls_serve(int listener, const char *certificate, const char *key, int connections, int requests);

/* Accepts a connection within 10 s, agrees on HTTP/2, and writes `piece` over and over, a record each, until the client
 * closes or `most` bytes are written; reads nothing that it makes anything of. Returns how many bytes it wrote, or -1
 * where it could not begin. */
long ctls_flood(
    int listener, const char *certificate, const char *key, const uint8_t *piece, size_t count, long most);

#endif
