/* CSystemd: what of libsystemd Swift cannot call by itself, or only with pointers to pointers. */
#ifndef CSYSTEMD_H
#define CSYSTEMD_H

#include <stddef.h>
#include <stdint.h>

/* Each returns zero or a positive number, or the negated errno. */

/* sd_notify(3), without waiting, from one thread: 1 sent, 0 nobody to tell, -EAGAIN where its queue is full. */
int cs_notify(const char *state);

/* sd_watchdog_enabled(3): microseconds between signs of life, 0 where none are asked for. */
int64_t cs_watchdog_microseconds(void);

/* sd_listen_fds_with_names(3): calls `each` for every passed descriptor, and clears the environment. */
int cs_passed_descriptors(void *context, void (*each)(void *context, int fd, const char *name));

/* sd_journal_sendv(3): one entry of `count` fields that lie end to end at `fields`. May wait for journald. */
int cs_journal_send(const uint8_t *fields, const size_t *lengths, size_t count);

#endif
