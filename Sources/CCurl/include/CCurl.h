/* CCurl: typed doors to libcurl's variadic calls, which Swift cannot see. */
#ifndef CCURL_H
#define CCURL_H

#include <curl/curl.h>

#endif
