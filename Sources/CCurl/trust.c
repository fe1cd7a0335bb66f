#include "CCurl.h"
#include "inspection.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct ccurl_identity {
    X509 *certificate;
    STACK_OF(X509) *chain;
    EVP_PKEY *key;
};

struct ccurl_tls {
    X509_STORE *store;
    X509 *certificate;   /* NULL: none to show */
    STACK_OF(X509) *chain;
    EVP_PKEY *key;
    ccurl_seen *seen;    /* NULL: nobody asks */
    char problem[1024];
    char taken[1024];
    size_t received;   /* in records, since this was last set to 0 */
    size_t most;       /* no more may come */
};

/* Where an SSL_CTX keeps its ccurl_tls. */
static int context_index = -1;
static pthread_once_t context_index_once = PTHREAD_ONCE_INIT;

static void make_context_index(void) { context_index = SSL_CTX_get_ex_new_index(0, NULL, NULL, NULL, NULL); }

/* Without this OpenSSL would ask for a passphrase on the terminal. */
static int no_passphrase(char *buffer, int size, int writing, void *context) {
    (void)buffer, (void)size, (void)writing, (void)context;
    return -1;
}

ccurl_trust *ccurl_trust_make(const uint8_t *pem, size_t count, int *certificates) {
    *certificates = 0;
    if (count > INT32_MAX) return NULL;
    BIO *source = BIO_new_mem_buf(pem, (int)count);
    X509_STORE *store = X509_STORE_new();
    X509 *certificate = NULL;
    int good = source && store;
    while (good && (certificate = PEM_read_bio_X509_AUX(source, NULL, no_passphrase, NULL))) {
        good = X509_STORE_add_cert(store, certificate);
        X509_free(certificate);
        if (good) *certificates += 1;
    }
    /* The end of the text is the only error that is none. */
    good = good && *certificates > 0 && ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
    ERR_clear_error();
    BIO_free(source);
    if (!good) {
        X509_STORE_free(store);
        return NULL;
    }
    /* An intermediate or the server's own certificate may be trusted by itself, as in libcurl's own loading. */
    X509_STORE_set_flags(store, X509_V_FLAG_TRUSTED_FIRST | X509_V_FLAG_PARTIAL_CHAIN);
    return (ccurl_trust *)store;
}

void ccurl_trust_free(ccurl_trust *trust) { X509_STORE_free((X509_STORE *)trust); }

static int read_certificates(ccurl_identity *identity, BIO *source) {
    X509 *next = NULL;
    identity->certificate = PEM_read_bio_X509_AUX(source, NULL, no_passphrase, NULL);
    identity->chain = sk_X509_new_null();
    if (!identity->certificate || !identity->chain) return 0;
    while ((next = PEM_read_bio_X509(source, NULL, no_passphrase, NULL))) {
        if (!sk_X509_push(identity->chain, next)) return 0;
    }
    return ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
}

static int fill_identity(ccurl_identity *identity, BIO *certificates, BIO *key) {
    if (!certificates || !read_certificates(identity, certificates)) return CCURL_IDENTITY_CERTIFICATE;
    identity->key = key ? PEM_read_bio_PrivateKey(key, NULL, no_passphrase, NULL) : NULL;
    if (!identity->key) return CCURL_IDENTITY_KEY;
    return X509_check_private_key(identity->certificate, identity->key) ? CCURL_IDENTITY_GOOD : CCURL_IDENTITY_PAIR;
}

ccurl_identity *ccurl_identity_make(
    const uint8_t *certificates, size_t certificate_count, const uint8_t *key, size_t key_count, int *problem) {
    *problem = CCURL_IDENTITY_CERTIFICATE;
    if (certificate_count > INT32_MAX || key_count > INT32_MAX) return NULL;
    ccurl_identity *identity = calloc(1, sizeof *identity);
    BIO *certificate_source = BIO_new_mem_buf(certificates, (int)certificate_count);
    BIO *key_source = BIO_new_mem_buf(key, (int)key_count);
    if (identity) *problem = fill_identity(identity, certificate_source, key_source);
    ERR_clear_error();
    BIO_free(certificate_source);
    BIO_free(key_source);
    if (*problem == CCURL_IDENTITY_GOOD) return identity;
    ccurl_identity_free(identity);
    return NULL;
}

void ccurl_identity_free(ccurl_identity *identity) {
    if (!identity) return;
    X509_free(identity->certificate);
    sk_X509_pop_free(identity->chain, X509_free);
    EVP_PKEY_free(identity->key);
    free(identity);
}

ccurl_tls *ccurl_tls_make(ccurl_trust *trust, ccurl_identity *identity, ccurl_seen *seen) {
    ccurl_tls *tls = calloc(1, sizeof *tls);
    if (!tls) return NULL;
    pthread_once(&context_index_once, make_context_index);
    tls->seen = seen;
    tls->store = (X509_STORE *)trust;
    X509_STORE_up_ref(tls->store);
    if (!identity) return tls;
    tls->chain = X509_chain_up_ref(identity->chain);
    if (!tls->chain) {
        ccurl_tls_free(tls);
        return NULL;
    }
    tls->certificate = identity->certificate;
    X509_up_ref(tls->certificate);
    tls->key = identity->key;
    EVP_PKEY_up_ref(tls->key);
    return tls;
}

void ccurl_tls_free(ccurl_tls *tls) {
    X509_STORE_free(tls->store);
    X509_free(tls->certificate);
    sk_X509_pop_free(tls->chain, X509_free);
    EVP_PKEY_free(tls->key);
    free(tls);
}

const char *ccurl_tls_take_problem(ccurl_tls *tls) {
    memcpy(tls->taken, tls->problem, sizeof tls->taken);
    tls->problem[0] = 0;
    return tls->taken;
}

static void describe(X509 *certificate, int error, BIO *to) {
    BIO_printf(to, "%s; subject ", X509_verify_cert_error_string(error));
    X509_NAME_print_ex(to, X509_get_subject_name(certificate), 0, XN_FLAG_RFC2253);
    BIO_puts(to, "; issuer ");
    X509_NAME_print_ex(to, X509_get_issuer_name(certificate), 0, XN_FLAG_RFC2253);
    BIO_puts(to, "; valid from ");
    ASN1_TIME_print_ex(to, X509_get0_notBefore(certificate), ASN1_DTFLGS_ISO8601);
    BIO_puts(to, " to ");
    ASN1_TIME_print_ex(to, X509_get0_notAfter(certificate), ASN1_DTFLGS_ISO8601);
}

static int note_problem(int good, X509_STORE_CTX *context) {
    if (good) return 1;
    SSL *ssl = X509_STORE_CTX_get_ex_data(context, SSL_get_ex_data_X509_STORE_CTX_idx());
    ccurl_tls *tls = ssl ? SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), context_index) : NULL;
    X509 *certificate = X509_STORE_CTX_get_current_cert(context);
    BIO *text = tls && certificate ? BIO_new(BIO_s_mem()) : NULL;
    if (text) {
        describe(certificate, X509_STORE_CTX_get_error(context), text);
        int count = BIO_read(text, tls->problem, sizeof tls->problem - 1);
        tls->problem[count > 0 ? count : 0] = 0;
        BIO_free(text);
    }
    return 0;
}

/* libcurl reads HTTP/2 until something comes for its request, and OpenSSL reads until a record holds data: what ends
 * neither is ended here, as if the peer had closed. */
static void count_record(
    int is_sent, int version, int type, const void *bytes, size_t count, SSL *ssl, void *context) {
    (void)version;
    if (is_sent || type != SSL3_RT_HEADER || count < SSL3_RT_HEADER_LENGTH) return;
    const uint8_t *header = bytes;
    ccurl_tls *tls = context;
    tls->received += CCURL_RECORD_COST + (size_t)(header[3] << 8 | header[4]);
    if (tls->received > tls->most) SSL_set_shutdown(ssl, SSL_get_shutdown(ssl) | SSL_RECEIVED_SHUTDOWN);
}

void ccurl_tls_allow(ccurl_tls *tls, size_t count) {
    tls->received = 0;
    tls->most = count;
}

int ccurl_tls_is_flooded(const ccurl_tls *tls) { return tls->received > tls->most; }

static CURLcode use_trust(CURL *easy, void *ssl_context, void *context) {
    (void)easy;
    ccurl_tls *tls = context;
    if (!SSL_CTX_set_ex_data(ssl_context, context_index, tls)) return CURLE_OUT_OF_MEMORY;
    SSL_CTX_set1_cert_store(ssl_context, tls->store);
    SSL_CTX_set_msg_callback(ssl_context, count_record);
    SSL_CTX_set_msg_callback_arg(ssl_context, tls);
    SSL_CTX_set_verify(ssl_context, SSL_VERIFY_PEER, note_problem);
    if (tls->seen) ccurl_see(ssl_context, tls->seen);
    if (tls->certificate && !SSL_CTX_use_cert_and_key(ssl_context, tls->certificate, tls->key, tls->chain, 1))
        return CURLE_SSL_CERTPROBLEM;
    return CURLE_OK;
}

CURLcode ccurl_set_tls(CURL *easy, ccurl_tls *tls) {
    CURLcode failed = curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, use_trust);
    return failed ? failed : curl_easy_setopt(easy, CURLOPT_SSL_CTX_DATA, tls);
}
