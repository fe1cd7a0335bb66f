#ifndef CCURL_INSPECTION_H
#define CCURL_INSPECTION_H

#include "CCurl.h"

#include <openssl/ssl.h>

/* Has what the servers of a context show be kept. */
void ccurl_see(SSL_CTX *context, ccurl_seen *seen);

#endif
