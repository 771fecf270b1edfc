/* A disk that fails or is watched, for one process and the guards that it starts.
 *
 * Loaded by LD_PRELOAD. $SCALECTL_TEST_DISK names a directory:
 *
 *   order   "KIND N ROOT"; KIND is one of the words in parse_order
 *   shared  zeros; a page that the processes share: the number of operations so far, and a lock
 *   ops     out: "N CLASS PATH" of every operation
 *   mark    out: the same of every operation that was made to fail
 *   writes  out, of KIND watch: every operation with its data (see watch)
 *
 * Only ROOT itself and what is below ROOT/.local and ROOT/.config counts. The shim itself speaks to the kernel
 * directly, so that it never meets itself. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind { COUNT, WATCH, NOSPC, IO, TORN, SHORT, SWALLOW, FULL, DEAD };
struct shared { atomic_uint count, lock; };

static struct shared *shared;
static char directory[PATH_MAX - 16], root[PATH_MAX];
static enum kind kind = COUNT;
static unsigned nth;
static int torn_fd = -1;

static int raw_open(const char *name, int flags) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0600);
}

static void append(const char *name, const struct iovec *parts, int count) {
    int fd = raw_open(name, O_WRONLY | O_APPEND | O_CREAT);
    size_t size = 0;
    for (int i = 0; i < count; i++) size += parts[i].iov_len;
    if (fd < 0 || syscall(SYS_writev, fd, parts, count) != (long)size) abort();
    syscall(SYS_close, fd);
}

static void parse_order(void) {
    static const char *words[] = {"count", "watch",   "nospc", "io",  "torn",
                                  "short", "swallow", "full",  "dead"};
    char text[2 * PATH_MAX] = {0}, word[16];
    int fd = raw_open("order", O_RDONLY);
    if (fd < 0 || syscall(SYS_read, fd, text, sizeof text - 1) < 0) abort();
    syscall(SYS_close, fd);
    if (sscanf(text, "%15s %u %4095s", word, &nth, root) != 3) abort();
    for (unsigned i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(words[i], word)) kind = (enum kind)i;
}

__attribute__((constructor)) static void begin(void) {
    const char *name = getenv("SCALECTL_TEST_DISK");
    if (!name) return;
    snprintf(directory, sizeof directory, "%s", name);
    parse_order();
    int fd = raw_open("shared", O_RDWR);
    if (fd < 0) abort();
    shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (shared == MAP_FAILED) abort();
    syscall(SYS_close, fd);
}

static int is_meant(const char *path) {
    size_t length = strlen(root);
    return shared && !strncmp(path, root, length) &&
           (!path[length] || !strncmp(path + length, "/.local", 7) || !strncmp(path + length, "/.config", 8));
}

static int path_of(int fd, char *path) {
    char link[64];
    if (!shared) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    long length = syscall(SYS_readlinkat, AT_FDCWD, link, path, PATH_MAX - 1);
    path[length < 0 ? 0 : length] = 0;
    return is_meant(path);
}

/* The watched operations are told in the order in which they happen. */
static void lock(void) {
    if (shared && kind == WATCH)
        while (atomic_exchange(&shared->lock, 1)) usleep(50);
}
static void unlock(void) {
    int error = errno;
    if (shared && kind == WATCH) atomic_store(&shared->lock, 0);
    errno = error;
}

/* One record: class, inode, offset or size, the lengths of two texts, and these. */
static void watch(char class, uint64_t inode, uint64_t offset, const char *path, const void *data,
                  size_t size) {
    int error = errno;
    if (shared && kind == WATCH) {
        uint64_t head[5] = {(uint64_t)class, inode, offset, strlen(path), size};
        struct iovec parts[] = {{head, sizeof head}, {(void *)path, head[3]}, {(void *)data, size}};
        append("writes", parts, 3);
    }
    errno = error;
}

static uint64_t inode_at(const char *path) {
    struct stat found;
    return stat(path, &found) ? 0 : found.st_ino;
}

/* Counts an operation. Answers the fault that it meets, or COUNT. */
static enum kind meet(char class, const char *path) {
    int error = errno;
    char line[PATH_MAX + 32];
    unsigned number = atomic_fetch_add(&shared->count, 1) + 1;
    int length = snprintf(line, sizeof line, "%u %c %s\n", number, class, path);
    struct iovec part = {line, (size_t)length};
    append("ops", &part, 1);
    int takes_space = strchr("wtolnm", class) != NULL;
    int is_hit = kind == FULL ? takes_space && number >= nth
                              : kind == DEAD ? number >= nth : kind > WATCH && number == nth;
    if (is_hit) append("mark", &part, 1);
    errno = error;
    return is_hit ? kind : COUNT;
}

/* Whether an operation that moves no bytes is to fail; sets errno. */
static int fails(char class, const char *path) {
    switch (meet(class, path)) {
    case NOSPC:
    case FULL: errno = ENOSPC; return 1;
    case IO:
    case DEAD: errno = EIO; return 1;
    default: return 0;
    }
}

/* How many of the bytes are to be written; -1 for an error. */
static ssize_t allowed(int fd, const char *path, size_t size, int *is_swallowed) {
    if (torn_fd == fd) {
        torn_fd = -1;
        errno = ENOSPC;
        return -1;
    }
    switch (meet('w', path)) {
    case NOSPC:
    case FULL: errno = ENOSPC; return -1;
    case IO:
    case DEAD: errno = EIO; return -1;
    case TORN: torn_fd = fd; return size / 2 ? (ssize_t)(size / 2) : (ssize_t)size;
    case SHORT: return size / 2 ? (ssize_t)(size / 2) : (ssize_t)size;
    case SWALLOW: *is_swallowed = 1; return (ssize_t)size;
    default: return (ssize_t)size;
    }
}

static ssize_t write_at(int fd, const void *data, size_t size, int64_t offset) {
    char path[PATH_MAX];
    int is_swallowed = 0;
    if (!path_of(fd, path)) {
        if (shared && fd == 1) lock(), watch('A', 0, 0, "", "", 0), unlock();
        return offset < 0 ? syscall(SYS_write, fd, data, size)
                          : syscall(SYS_pwrite64, fd, data, size, offset);
    }
    ssize_t some = allowed(fd, path, size, &is_swallowed);
    if (some < 0 || is_swallowed) return some;
    lock();
    struct stat found;
    fstat(fd, &found);
    int is_appended = offset < 0 && (fcntl(fd, F_GETFL) & O_APPEND);
    int64_t at = is_appended ? found.st_size : offset < 0 ? lseek(fd, 0, SEEK_CUR) : offset;
    ssize_t done = offset < 0 ? syscall(SYS_write, fd, data, some)
                              : syscall(SYS_pwrite64, fd, data, some, offset);
    if (done > 0) watch('w', found.st_ino, (uint64_t)at, path, data, (size_t)done);
    unlock();
    return done;
}

static int read_fails(int fd) {
    char path[PATH_MAX];
    return path_of(fd, path) && fails('r', path);
}
ssize_t read(int fd, void *data, size_t size) {
    return read_fails(fd) ? -1 : syscall(SYS_read, fd, data, size);
}
ssize_t pread64(int fd, void *data, size_t size, off64_t at) {
    return read_fails(fd) ? -1 : syscall(SYS_pread64, fd, data, size, at);
}
ssize_t write(int fd, const void *data, size_t size) { return write_at(fd, data, size, -1); }
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at) {
    return write_at(fd, data, size, at);
}
ssize_t pwrite(int fd, const void *data, size_t size, off_t at) {
    return write_at(fd, data, size, at);
}
/* Nothing of ours writes a file in parts; whoever begins to must be seen. */
ssize_t writev(int fd, const struct iovec *parts, int count) {
    char path[PATH_MAX];
    if (path_of(fd, path)) abort();
    if (shared && fd == 1) lock(), watch('A', 0, 0, "", "", 0), unlock();
    return syscall(SYS_writev, fd, parts, count);
}

static int open_at(int directory_fd, const char *name, int flags, mode_t mode) {
    int is_creating = (flags & O_CREAT) != 0;
    int is_writing = is_creating || (flags & O_ACCMODE) != O_RDONLY;
    if (!is_writing || !is_meant(name))
        return (int)syscall(SYS_openat, directory_fd, name, flags, mode);
    int is_new = inode_at(name) == 0;
    if (fails(is_creating && is_new ? 'o' : 'e', name)) return -1;
    lock();
    int fd = (int)syscall(SYS_openat, directory_fd, name, flags, mode);
    if (fd >= 0 && is_new) watch('o', inode_at(name), 0, name, "", 0);
    if (fd >= 0 && !is_new && (flags & O_TRUNC)) watch('t', inode_at(name), 0, name, "", 0);
    unlock();
    return fd;
}

#define MODE(flags, mode)                                                                          \
    mode_t mode = 0;                                                                               \
    if ((flags) & (O_CREAT | O_TMPFILE)) {                                                         \
        va_list rest;                                                                              \
        va_start(rest, flags);                                                                     \
        mode = va_arg(rest, mode_t);                                                               \
        va_end(rest);                                                                              \
    }
int open(const char *name, int flags, ...) {
    MODE(flags, mode);
    return open_at(AT_FDCWD, name, flags, mode);
}
int open64(const char *name, int flags, ...) {
    MODE(flags, mode);
    return open_at(AT_FDCWD, name, flags, mode);
}
int openat(int fd, const char *name, int flags, ...) {
    MODE(flags, mode);
    return open_at(fd, name, flags, mode);
}
int openat64(int fd, const char *name, int flags, ...) {
    MODE(flags, mode);
    return open_at(fd, name, flags, mode);
}

static int sync_with(long number, int fd) {
    char path[PATH_MAX];
    if (!path_of(fd, path)) return (int)syscall(number, fd);
    if (fails('s', path)) return -1;
    lock();
    int done = (int)syscall(number, fd);
    struct stat found;
    fstat(fd, &found);
    if (!done) watch(S_ISDIR(found.st_mode) ? 'd' : 's', found.st_ino, 0, path, "", 0);
    unlock();
    return done;
}
int fsync(int fd) { return sync_with(SYS_fsync, fd); }
int fdatasync(int fd) { return sync_with(SYS_fdatasync, fd); }

static int truncate_to(int fd, int64_t size) {
    char path[PATH_MAX];
    if (!path_of(fd, path)) return (int)syscall(SYS_ftruncate, fd, size);
    if (fails('t', path)) return -1;
    lock();
    struct stat found;
    fstat(fd, &found);
    int done = (int)syscall(SYS_ftruncate, fd, size);
    if (!done) watch('t', found.st_ino, (uint64_t)size, path, "", 0);
    unlock();
    return done;
}
int ftruncate(int fd, off_t size) { return truncate_to(fd, size); }
int ftruncate64(int fd, off64_t size) { return truncate_to(fd, size); }

/* What changes a directory: the second name is the data of its record. */
#define NAMED(class, path, other, call)                                                            \
    if (!is_meant(path)) return (int)(call);                                                       \
    if (fails(class, path)) return -1;                                                             \
    lock();                                                                                        \
    int done = (int)(call);                                                                        \
    if (!done) watch(class, 0, 0, path, other, strlen(other));                                     \
    unlock();                                                                                      \
    return done;
int rename(const char *from, const char *to) {
    NAMED('n', from, to, syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0))
}
int linkat(int a, const char *from, int b, const char *to, int flags) {
    NAMED('l', from, to, syscall(SYS_linkat, a, from, b, to, flags))
}
int unlink(const char *path) { NAMED('u', path, "", syscall(SYS_unlinkat, AT_FDCWD, path, 0)) }
int mkdir(const char *path, mode_t mode) {
    NAMED('m', path, "", syscall(SYS_mkdirat, AT_FDCWD, path, mode))
}
