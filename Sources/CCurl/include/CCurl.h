/* CCurl: typed doors to libcurl's variadic calls, which Swift cannot see, and the few OpenSSL calls that go with them.
 *
 * The callbacks' types are spelt out here, so that a Swift closure that fits one of them is known to fit libcurl.
 */
#ifndef CCURL_H
#define CCURL_H

#include <curl/curl.h>
#include <stddef.h>
#include <stdint.h>

/* Receives (or gives) up to size * count bytes; returns how many it took. */
typedef size_t (*ccurl_data_callback)(char *bytes, size_t size, size_t count, void *context);
typedef int (*ccurl_seek_callback)(void *context, curl_off_t offset, int origin);
typedef int (*ccurl_socket_callback)(CURL *easy, curl_socket_t socket, int what, void *context, void *socket_context);
/* Returns CURL_SOCKOPT_OK or CURL_SOCKOPT_ERROR. */
typedef int (*ccurl_made_callback)(void *context, curl_socket_t socket, curlsocktype purpose);
typedef int (*ccurl_timer_callback)(CURLM *multi, long timeout_milliseconds, void *context);

CURLcode ccurl_set_long(CURL *easy, CURLoption option, long value);
CURLcode ccurl_set_offset(CURL *easy, CURLoption option, curl_off_t value);
CURLcode ccurl_set_text(CURL *easy, CURLoption option, const char *value);   /* copied; NULL: none */
CURLcode ccurl_set_list(CURL *easy, CURLoption option, struct curl_slist *value);   /* not copied */
CURLcode ccurl_set_error_buffer(CURL *easy, char *buffer);   /* CURL_ERROR_SIZE bytes, not copied */
CURLcode ccurl_copy_body(CURL *easy, const uint8_t *bytes, size_t count);
/* `context` is also what `ccurl_get_context` gives. */
CURLcode ccurl_set_callbacks(
    CURL *easy, ccurl_data_callback header, ccurl_data_callback body, ccurl_data_callback upload,
    ccurl_seek_callback rewind, void *context);
/* `made` is called for each socket that is made for the handle, before it connects. */
CURLcode ccurl_set_made(CURL *easy, ccurl_made_callback made, void *context);
/* Has the errno of a socket that cannot be made written there, not copied. */
CURLcode ccurl_note_socket_failure(CURL *easy, int32_t *failure);
/* Makes a socket close-on-exec and give up what the peer does not acknowledge in time (TCP_USER_TIMEOUT, tcp(7)). */
int ccurl_prepare_socket(curl_socket_t socket, uint32_t user_timeout_milliseconds);
/* Bytes that a connection has ever received, TLS included (TCP_INFO, tcp(7)); 0 where it is none of TCP. */
uint64_t ccurl_received_count(curl_socket_t socket);
/* Any look-up of a name fails: CURLOPT_RESOLVE must have said all. */
CURLcode ccurl_forbid_look_ups(CURL *easy);

long ccurl_get_long(CURL *easy, CURLINFO info);
int64_t ccurl_get_microseconds(CURL *easy, CURLINFO info);   /* one of CURLINFO_*_TIME_T; 0 where unknown */
const char *ccurl_get_text(CURL *easy, CURLINFO info);   /* "" where unknown; good until the handle's next use */
void *ccurl_get_context(CURL *easy);

CURLMcode ccurl_multi_set_callbacks(
    CURLM *multi, ccurl_socket_callback socket, ccurl_timer_callback timer, void *context);
/* Also where HTTP/2 could carry more. */
void ccurl_multi_one_request_a_connection(CURLM *multi);
/* Goes on with every transfer and says of each which sockets are to be watched. */
CURLMcode ccurl_multi_look_at_all(CURLM *multi);
/* The next ended transfer, NULL where there is none. */
CURL *ccurl_multi_next_ended(CURLM *multi, CURLcode *result);

static const int CCURL_LACKS_OPENSSL = 1;
static const int CCURL_LACKS_AGE = 2;            /* older than 7.87, which brought CURLOPT_QUICK_EXIT */
static const int CCURL_LACKS_UNIX_SOCKETS = 4;
/* What the libcurl that was loaded cannot do, CCURL_LACKS_* or-ed; 0: all is there. */
int ccurl_missing_abilities(void);
const char *ccurl_tls_backend(void);
const char *ccurl_version(void);

/* ---- what a server shows ---- */

typedef struct ccurl_seen ccurl_seen;     /* what the last server of a connection showed */

static const int CCURL_TRUST_GOOD = 0;
static const int CCURL_TRUST_EXPIRED = 1;
static const int CCURL_TRUST_NOT_YET = 2;
static const int CCURL_TRUST_UNKNOWN = 3;          /* signed by nobody who is trusted */
static const int CCURL_TRUST_OTHER = 4;
/* Nothing seen yet; `host` is the name or the address that a certificate should be for. NULL: no memory. */
ccurl_seen *ccurl_seen_make(const char *host);
void ccurl_seen_free(ccurl_seen *seen);
int ccurl_seen_count(const ccurl_seen *seen);      /* certificates, at most 8; the server's own is the first */
int ccurl_seen_matches(const ccurl_seen *seen);    /* 1: the first is for the host */
int ccurl_seen_trust(const ccurl_seen *seen);      /* CCURL_TRUST_* */
int ccurl_trust_of(long error);                    /* the same of CURLINFO_SSL_VERIFYRESULT */
const char *ccurl_seen_protocol(const ccurl_seen *seen);            /* "TLSv1.3" */
const char *ccurl_seen_subject(const ccurl_seen *seen, int index);
const char *ccurl_seen_issuer(const ccurl_seen *seen, int index);
const char *ccurl_seen_names(const ccurl_seen *seen, int index);    /* "a.example, b.example" */
int64_t ccurl_seen_begins(const ccurl_seen *seen, int index);       /* seconds since 1970; 0 unknown */
int64_t ccurl_seen_ends(const ccurl_seen *seen, int index);

/* ---- trust ---- */

typedef struct ccurl_trust ccurl_trust;   /* trusted certificates; immutable, for any thread */
typedef struct ccurl_identity ccurl_identity;   /* a certificate to show, with its key; immutable, for any thread */
typedef struct ccurl_tls ccurl_tls;       /* what the connections to one destination trust, and what was last refused */

/* The certificates of a PEM text; NULL where there is none, or where one is malformed. */
ccurl_trust *ccurl_trust_make(const uint8_t *pem, size_t count, int *certificates);
void ccurl_trust_free(ccurl_trust *trust);

static const int CCURL_IDENTITY_GOOD = 0;
static const int CCURL_IDENTITY_CERTIFICATE = 1;   /* no certificate in PEM, or a malformed one */
static const int CCURL_IDENTITY_KEY = 2;           /* no key in PEM, a malformed or an encrypted one */
static const int CCURL_IDENTITY_PAIR = 3;          /* the key is another certificate's */
/* The first certificate of a PEM text, those after it as its chain, and the key of another (or the same) text. */
ccurl_identity *ccurl_identity_make(
    const uint8_t *certificates, size_t certificate_count, const uint8_t *key, size_t key_count, int *problem);
void ccurl_identity_free(ccurl_identity *identity);

/* `identity` may be NULL, and so may `seen`, which gets what servers show, and must live as long. */
ccurl_tls *ccurl_tls_make(ccurl_trust *trust, ccurl_identity *identity, ccurl_seen *seen);
void ccurl_tls_free(ccurl_tls *tls);      /* after the last connection that used it */
/* Subject, issuer, dates and problem of the certificate that was refused last, and forgets it; "" where none was. */
const char *ccurl_tls_take_problem(ccurl_tls *tls);
static const size_t CCURL_RECORD_COST = 128;   /* what a record counts besides its bytes */
/* Until this is called again so many bytes in records may come over all connections; then the one that brings more
 * ends as if its peer had closed it. */
void ccurl_tls_allow(ccurl_tls *tls, size_t count);
int ccurl_tls_is_flooded(const ccurl_tls *tls);   /* 1: more came */
/* Transfers of `easy` trust nothing else, and show nothing else. */
CURLcode ccurl_set_tls(CURL *easy, ccurl_tls *tls);

#endif
