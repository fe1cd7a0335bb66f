#include "CCurl.h"
#include "inspection.h"

#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SEEN_LIMIT 8
#define TEXT_SIZE 512

typedef struct seen_certificate {
    char subject[TEXT_SIZE];
    char issuer[TEXT_SIZE];
    char names[TEXT_SIZE];
    int64_t begins;
    int64_t ends;
} seen_certificate;

struct ccurl_seen {
    char host[256];
    char protocol[16];
    int count;
    int matches;
    int trust;
    seen_certificate certificates[SEEN_LIMIT];
};

ccurl_seen *ccurl_seen_make(const char *host) {
    ccurl_seen *seen = calloc(1, sizeof *seen);
    if (seen) strncpy(seen->host, host, sizeof seen->host - 1);
    return seen;
}

void ccurl_seen_free(ccurl_seen *seen) { free(seen); }
int ccurl_seen_count(const ccurl_seen *seen) { return seen->count; }
int ccurl_seen_matches(const ccurl_seen *seen) { return seen->matches; }
int ccurl_seen_trust(const ccurl_seen *seen) { return seen->trust; }
const char *ccurl_seen_protocol(const ccurl_seen *seen) { return seen->protocol; }
const char *ccurl_seen_subject(const ccurl_seen *seen, int index) { return seen->certificates[index].subject; }
const char *ccurl_seen_issuer(const ccurl_seen *seen, int index) { return seen->certificates[index].issuer; }
const char *ccurl_seen_names(const ccurl_seen *seen, int index) { return seen->certificates[index].names; }
int64_t ccurl_seen_begins(const ccurl_seen *seen, int index) { return seen->certificates[index].begins; }
int64_t ccurl_seen_ends(const ccurl_seen *seen, int index) { return seen->certificates[index].ends; }

static int64_t seconds(const ASN1_TIME *time) {
    struct tm parts;
    return ASN1_TIME_to_tm(time, &parts) ? (int64_t)timegm(&parts) : 0;
}

/* Moves what was written to `text` into `to`, cut to its size. */
static void take_text(BIO *text, char *to) {
    int count = text ? BIO_read(text, to, TEXT_SIZE - 1) : 0;
    to[count > 0 ? count : 0] = 0;
    BIO_free(text);
}

static void take_name(X509_NAME *name, char *to) {
    BIO *text = BIO_new(BIO_s_mem());
    if (text) X509_NAME_print_ex(text, name, 0, XN_FLAG_RFC2253 & ~ASN1_STRFLGS_ESC_MSB);
    take_text(text, to);
}

/* The names of hosts that it is for; those of IPv4 addresses as well. */
static void take_names(X509 *certificate, char *to) {
    GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
    BIO *text = names ? BIO_new(BIO_s_mem()) : NULL;
    for (int index = 0; text && index < sk_GENERAL_NAME_num(names); index++) {
        const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, index);
        const char *separator = BIO_pending(text) > 0 ? ", " : "";
        if (name->type == GEN_DNS) {
            BIO_printf(text, "%s%.*s", separator, ASN1_STRING_length(name->d.dNSName),
                       (const char *)ASN1_STRING_get0_data(name->d.dNSName));
        } else if (name->type == GEN_IPADD && ASN1_STRING_length(name->d.iPAddress) == 4) {
            const unsigned char *bytes = ASN1_STRING_get0_data(name->d.iPAddress);
            BIO_printf(text, "%s%d.%d.%d.%d", separator, bytes[0], bytes[1], bytes[2], bytes[3]);
        }
    }
    take_text(text, to);
    GENERAL_NAMES_free(names);
}

static void keep(ccurl_seen *seen, X509_STORE_CTX *context) {
    SSL *ssl = X509_STORE_CTX_get_ex_data(context, SSL_get_ex_data_X509_STORE_CTX_idx());
    if (ssl) strncpy(seen->protocol, SSL_get_version(ssl), sizeof seen->protocol - 1);
    X509 *leaf = X509_STORE_CTX_get0_cert(context);
    STACK_OF(X509) *chain = X509_STORE_CTX_get0_untrusted(context);
    seen->matches = leaf && (X509_check_ip_asc(leaf, seen->host, 0) == 1
                             || X509_check_host(leaf, seen->host, 0, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS, NULL) == 1);
    seen->count = 0;
    for (int index = 0; index < sk_X509_num(chain) && seen->count < SEEN_LIMIT; index++) {
        X509 *certificate = sk_X509_value(chain, index);
        seen_certificate *to = &seen->certificates[seen->count++];
        take_name(X509_get_subject_name(certificate), to->subject);
        take_name(X509_get_issuer_name(certificate), to->issuer);
        take_names(certificate, to->names);
        to->begins = seconds(X509_get0_notBefore(certificate));
        to->ends = seconds(X509_get0_notAfter(certificate));
    }
}

int ccurl_trust_of(long error) {
    switch (error) {
    case X509_V_OK: return CCURL_TRUST_GOOD;
    case X509_V_ERR_CERT_HAS_EXPIRED: return CCURL_TRUST_EXPIRED;
    case X509_V_ERR_CERT_NOT_YET_VALID: return CCURL_TRUST_NOT_YET;
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE: return CCURL_TRUST_UNKNOWN;
    default: return CCURL_TRUST_OTHER;
    }
}

static int verify(X509_STORE_CTX *context, void *seen) {
    keep(seen, context);
    int good = X509_verify_cert(context);
    ((ccurl_seen *)seen)->trust = good > 0 ? CCURL_TRUST_GOOD : ccurl_trust_of(X509_STORE_CTX_get_error(context));
    return good;
}

void ccurl_see(SSL_CTX *context, ccurl_seen *seen) { SSL_CTX_set_cert_verify_callback(context, verify, seen); }
