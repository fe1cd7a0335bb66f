"""System calls that fail at one's word: a library to preload, steered through a mapped file while the daemon runs."""
import mmap
import os
import struct
import subprocess

CALLS = ("pwrite", "fdatasync", "fsync", "open", "rename", "unlink", "pread")
SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct rule { volatile int call, error, half, count, hits; char path[108]; };
static struct rule *rule;

__attribute__((constructor)) static void attach(void) {
    int fd = open(getenv("UPLINKD_SHIM"), O_RDWR);
    if (fd >= 0) rule = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}
static int fails(int call, const char *path) {
    if (!rule || rule->call != call || !rule->count || !strstr(path, rule->path)) return 0;
    if (rule->count > 0) rule->count--;
    rule->hits++;
    errno = rule->error;
    return 1;
}
static int fails_on(int call, int fd) {
    char link[64], path[4096];
    if (!rule || rule->call != call) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(link, path, sizeof path - 1);
    if (size < 0) return 0;
    path[size] = 0;
    return fails(call, path);
}
/* No error number: the call does nothing and says that it did. */
static int result(int lie) { return rule->error ? -1 : lie; }
#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t pwrite(int fd, const void *from, size_t size, off_t offset) {
    if (!fails_on(1, fd)) return REAL(pwrite)(fd, from, size, offset);
    if (rule->half) { REAL(pwrite)(fd, from, size / 2, offset); errno = rule->error; }
    return result(size);
}
int fdatasync(int fd) { return fails_on(2, fd) ? result(0) : REAL(fdatasync)(fd); }
int fsync(int fd) { return fails_on(3, fd) ? result(0) : REAL(fsync)(fd); }
int open(const char *path, int flags, ...) {
    va_list list;
    va_start(list, flags);
    int mode = va_arg(list, int);
    va_end(list);
    if (flags & O_CREAT && fails(4, path)) return result(-1);
    return ((int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open"))(path, flags, mode);
}
int rename(const char *from, const char *to) {
    return fails(5, from) ? result(0) : REAL(rename)(from, to);
}
int unlink(const char *path) { return fails(6, path) ? result(0) : REAL(unlink)(path); }
ssize_t pread(int fd, void *to, size_t size, off_t offset) {
    return fails_on(7, fd) ? result(0) : REAL(pread)(fd, to, size, offset);
}
"""


class Shim:
    """The library, built, and its one rule."""

    def __init__(self, home):
        source, library, control = (os.path.join(home, name) for name in ("shim.c", "shim.so", "shim.rule"))
        with open(source, "w") as file:
            file.write(SOURCE)
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", library, source], check=True)
        with open(control, "wb") as file:
            file.write(bytes(4096))
        with open(control, "r+b") as file:
            self.memory = mmap.mmap(file.fileno(), 4096)
        self.environment = {"LD_PRELOAD": library, "UPLINKD_SHIM": control}

    def fail(self, call, path, errno, count=-1, half=False):
        """From now on the call fails where `path` is part of the file's; `count` times, or until `heal`; 0 lies."""
        self.memory[:4] = bytes(4)
        self.memory[4:128] = struct.pack("<iiii108s", errno, half, count, 0, path.encode())
        self.memory[:4] = struct.pack("<i", CALLS.index(call) + 1)

    def heal(self):
        self.memory[:4] = bytes(4)

    @property
    def hits(self):
        """How many calls it failed since the last `fail`."""
        return struct.unpack("<i", self.memory[16:20])[0]
