#define _GNU_SOURCE
#include "CLinux.h"
#include "retry.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

int cl_open(const char *path, int flags, uint32_t mode) { return RETRY(open(path, flags | O_CLOEXEC, mode)); }
/* Linux frees the descriptor even when close is interrupted. */
int cl_close(int fd) { return close(fd) < 0 && errno != EINTR ? -errno : 0; }
int64_t cl_read(int fd, void *to, size_t count) { return RETRY(read(fd, to, count)); }
int64_t cl_write(int fd, const void *from, size_t count) { return RETRY(write(fd, from, count)); }
int64_t cl_pread(int fd, void *to, size_t count, int64_t offset) { return RETRY(pread(fd, to, count, offset)); }
int64_t cl_pwrite(int fd, const void *from, size_t count, int64_t offset) {
    return RETRY(pwrite(fd, from, count, offset));
}
int64_t cl_seek_data(int fd, int64_t offset) {
    off_t found = lseek(fd, offset, SEEK_DATA);
    return found < 0 ? -errno : found;
}
int cl_fdatasync(int fd) { return RETRY(fdatasync(fd)); }
int cl_allocate(int fd, int64_t size) { return RETRY(fallocate(fd, 0, 0, size)); }
int cl_punch_hole(int fd, int64_t offset, int64_t length) {
    return RETRY(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, length));
}
int cl_fsync(int fd) { return RETRY(fsync(fd)); }
int cl_truncate(int fd, int64_t size) { return RETRY(ftruncate(fd, size)); }
int cl_rename(const char *from, const char *to) { return rename(from, to) < 0 ? -errno : 0; }
int cl_unlink(const char *path) { return unlink(path) < 0 ? -errno : 0; }
int cl_mkdir(const char *path, uint32_t mode) { return mkdir(path, mode) < 0 ? -errno : 0; }
int cl_rmdir(const char *path) { return rmdir(path) < 0 ? -errno : 0; }
int cl_chmod(const char *path, uint32_t mode) { return chmod(path, mode) < 0 ? -errno : 0; }
int cl_chown(const char *path, uint32_t owner, uint32_t group) { return chown(path, owner, group) < 0 ? -errno : 0; }

static void fill(cl_status *to, const struct stat *from) {
    to->size = from->st_size;
    to->allocated = (int64_t)from->st_blocks * 512;
    to->device = from->st_dev;
    to->inode = from->st_ino;
    to->device_major = major(from->st_dev);
    to->device_minor = minor(from->st_dev);
    to->mode = from->st_mode & 07777;
    to->owner = from->st_uid;
    to->group = from->st_gid;
    to->type = S_ISREG(from->st_mode)    ? CL_TYPE_REGULAR
               : S_ISDIR(from->st_mode)  ? CL_TYPE_DIRECTORY
               : S_ISSOCK(from->st_mode) ? CL_TYPE_SOCKET
                                         : CL_TYPE_OTHER;
}

int cl_stat(const char *path, cl_status *to) {
    struct stat status;
    if (lstat(path, &status) < 0) return -errno;
    fill(to, &status);
    return 0;
}

int cl_fstat(int fd, cl_status *to) {
    struct stat status;
    if (fstat(fd, &status) < 0) return -errno;
    fill(to, &status);
    return 0;
}

int cl_statvfs(const char *path, cl_space *to) {
    struct statvfs space;
    if (RETRY(statvfs(path, &space)) < 0) return -errno;
    to->total = (uint64_t)space.f_blocks * space.f_frsize;
    to->available = (uint64_t)space.f_bavail * space.f_frsize;
    to->files = space.f_files == 0 ? UINT64_MAX : space.f_favail;
    to->read_only = (space.f_flag & ST_RDONLY) != 0;
    return 0;
}

int cl_lock_exclusive(int fd) { return RETRY(flock(fd, LOCK_EX | LOCK_NB)); }
int cl_drop_cache(int fd, int64_t offset, int64_t count) {
    return -posix_fadvise(fd, offset, count, POSIX_FADV_DONTNEED);
}

int cl_no_copy_on_write(int fd) {
    int flags = 0;
    if (ioctl(fd, FS_IOC_GETFLAGS, &flags) < 0) return -errno;
    flags |= FS_NOCOW_FL;
    return ioctl(fd, FS_IOC_SETFLAGS, &flags) < 0 ? -errno : 0;
}

int cl_list(const char *path, int (*each)(void *context, const char *name), void *context) {
    DIR *directory = opendir(path);
    if (!directory) return -errno;
    int failed = 0;
    for (;;) {
        errno = 0;
        struct dirent *entry = readdir(directory);
        if (!entry) {
            failed = errno;
            break;
        }
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
        if (each(context, entry->d_name)) break;
    }
    closedir(directory);
    return -failed;
}
