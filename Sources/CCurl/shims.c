#define _GNU_SOURCE
#define CURL_DISABLE_DEPRECATION   /* curl_multi_socket_all */
#include "CCurl.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

CURLcode ccurl_set_long(CURL *easy, CURLoption option, long value) { return curl_easy_setopt(easy, option, value); }

CURLcode ccurl_set_offset(CURL *easy, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(easy, option, value);
}

CURLcode ccurl_set_text(CURL *easy, CURLoption option, const char *value) {
    return curl_easy_setopt(easy, option, value);
}

CURLcode ccurl_set_list(CURL *easy, CURLoption option, struct curl_slist *value) {
    return curl_easy_setopt(easy, option, value);
}

CURLcode ccurl_copy_body(CURL *easy, const uint8_t *bytes, size_t count) {
    CURLcode failed = curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)count);
    return failed ? failed : curl_easy_setopt(easy, CURLOPT_COPYPOSTFIELDS, count ? (const void *)bytes : "");
}

CURLcode ccurl_set_error_buffer(CURL *easy, char *buffer) {
    return curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, buffer);
}

CURLcode ccurl_set_callbacks(
    CURL *easy, ccurl_data_callback header, ccurl_data_callback body, ccurl_data_callback upload,
    ccurl_seek_callback rewind, void *context) {
    CURLcode failed = curl_easy_setopt(easy, CURLOPT_PRIVATE, context);
    if (!failed) failed = curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, header);
    if (!failed) failed = curl_easy_setopt(easy, CURLOPT_HEADERDATA, context);
    if (!failed) failed = curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, body);
    if (!failed) failed = curl_easy_setopt(easy, CURLOPT_WRITEDATA, context);
    if (!failed) failed = curl_easy_setopt(easy, CURLOPT_READFUNCTION, upload);
    if (!failed) failed = curl_easy_setopt(easy, CURLOPT_READDATA, context);
    if (!failed) failed = curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, rewind);
    if (!failed) failed = curl_easy_setopt(easy, CURLOPT_SEEKDATA, context);
    return failed;
}

int ccurl_prepare_socket(curl_socket_t socket, uint32_t user_timeout_milliseconds) {
    int family = 0;
    socklen_t length = sizeof family;
    unsigned int user_timeout = user_timeout_milliseconds;
    if (fcntl(socket, F_SETFD, FD_CLOEXEC) < 0) return CURL_SOCKOPT_ERROR;
    if (getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &family, &length) < 0) return CURL_SOCKOPT_ERROR;
    if (family == AF_UNIX) return CURL_SOCKOPT_OK;
    if (setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &user_timeout, sizeof user_timeout) < 0)
        return CURL_SOCKOPT_ERROR;
    return CURL_SOCKOPT_OK;
}

CURLcode ccurl_set_made(CURL *easy, ccurl_made_callback made, void *context) {
    CURLcode failed = curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, made);
    return failed ? failed : curl_easy_setopt(easy, CURLOPT_SOCKOPTDATA, context);
}

static curl_socket_t open_socket(void *context, curlsocktype purpose, struct curl_sockaddr *address) {
    (void)purpose;
    int number = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    if (number < 0) *(int32_t *)context = errno;
    return number < 0 ? CURL_SOCKET_BAD : number;
}

CURLcode ccurl_note_socket_failure(CURL *easy, int32_t *failure) {
    CURLcode failed = curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    return failed ? failed : curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, failure);
}

static int refuse_look_up(void *resolver, void *reserved, void *context) {
    (void)resolver, (void)reserved, (void)context;
    return 1;
}

CURLcode ccurl_forbid_look_ups(CURL *easy) {
    return curl_easy_setopt(easy, CURLOPT_RESOLVER_START_FUNCTION, refuse_look_up);
}

long ccurl_get_long(CURL *easy, CURLINFO info) {
    long value = 0;
    return curl_easy_getinfo(easy, info, &value) == CURLE_OK ? value : 0;
}

int64_t ccurl_get_microseconds(CURL *easy, CURLINFO info) {
    curl_off_t value = 0;
    return curl_easy_getinfo(easy, info, &value) == CURLE_OK ? value : 0;
}

const char *ccurl_get_text(CURL *easy, CURLINFO info) {
    char *text = NULL;
    return curl_easy_getinfo(easy, info, &text) == CURLE_OK && text ? text : "";
}

void *ccurl_get_context(CURL *easy) {
    void *context = NULL;
    return curl_easy_getinfo(easy, CURLINFO_PRIVATE, &context) == CURLE_OK ? context : NULL;
}

CURLMcode ccurl_multi_set_callbacks(
    CURLM *multi, ccurl_socket_callback socket, ccurl_timer_callback timer, void *context) {
    CURLMcode failed = curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, socket);
    if (!failed) failed = curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, context);
    if (!failed) failed = curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, timer);
    if (!failed) failed = curl_multi_setopt(multi, CURLMOPT_TIMERDATA, context);
    return failed;
}

void ccurl_multi_one_request_a_connection(CURLM *multi) {
    curl_multi_setopt(multi, CURLMOPT_PIPELINING, (long)CURLPIPE_NOTHING);
}

CURLMcode ccurl_multi_look_at_all(CURLM *multi) {
    int running = 0;
    return curl_multi_socket_all(multi, &running);
}

CURL *ccurl_multi_next_ended(CURLM *multi, CURLcode *result) {
    int left = 0;
    for (;;) {
        const CURLMsg *message = curl_multi_info_read(multi, &left);
        if (!message) return NULL;
        if (message->msg != CURLMSG_DONE) continue;
        *result = message->data.result;
        return message->easy_handle;
    }
}

const char *ccurl_tls_backend(void) {
    const char *name = curl_version_info(CURLVERSION_NOW)->ssl_version;
    return name ? name : "none";
}

const char *ccurl_version(void) { return curl_version_info(CURLVERSION_NOW)->version; }

int ccurl_missing_abilities(void) {
    const curl_version_info_data *about = curl_version_info(CURLVERSION_NOW);
    int missing = 0;
    if (strncmp(ccurl_tls_backend(), "OpenSSL/", 8) != 0) missing |= CCURL_LACKS_OPENSSL;
    if (about->version_num < 0x075700) missing |= CCURL_LACKS_AGE;
    if (!(about->features & CURL_VERSION_UNIX_SOCKETS)) missing |= CCURL_LACKS_UNIX_SOCKETS;
    return missing;
}
