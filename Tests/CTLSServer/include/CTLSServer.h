/* CTLSServer: a small HTTPS server for tests. */
#ifndef CTLSSERVER_H
#define CTLSSERVER_H

/* Accepts `connections` connections, one after another, each within 10 s, and answers every request on them, at most
 * `requests` each, with 200, `Connection-Number` and `Session-Reused`. Returns how many requests it answered, or -1
 * where it could not begin.
 * `certificate` and `key` are paths of PEM files. */
int ctls_serve(int listener, const char *certificate, const char *key, int connections, int requests);

#endif
