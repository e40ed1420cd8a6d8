/* Makes one call of the system that changes a file fail, or ends the process at it. Loaded with LD_PRELOAD.
   FAULT_IN: what the file's path holds; FAULT_AT: the number of the call, 0 for none; FAULT_HOW: kill, or the number of
   an error; FAULT_COUNT: where each process adds how many such calls it made. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static long seen;

static int concerns(const char *path) {
    const char *within = getenv("FAULT_IN");
    return within && path && strstr(path, within) != NULL;
}

static int concerns_open(int file) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length <= 0) return 0;
    path[length] = 0;
    return concerns(path);
}

/* Whether the call fails, with errno set. */
static int fails(void) {
    const char *at = getenv("FAULT_AT"), *how = getenv("FAULT_HOW");
    if (__sync_add_and_fetch(&seen, 1) != (at ? atol(at) : 0)) return 0;
    if (!how || !strcmp(how, "kill")) kill(getpid(), SIGKILL);
    errno = atoi(how);
    return 1;
}

__attribute__((destructor)) static void count(void) {
    const char *where = getenv("FAULT_COUNT");
    FILE *file = where && seen ? fopen(where, "a") : NULL;
    if (file) { fprintf(file, "%ld\n", seen); fclose(file); }
}

#define REAL(name) static __typeof__(&name) real; if (!real) real = dlsym(RTLD_NEXT, #name)
#define OF_PATH(name, arguments, values, path) \
    int name arguments { REAL(name); return concerns(path) && fails() ? -1 : real values; }
#define OF_FILE(result, name, arguments, values) \
    result name arguments { REAL(name); return file > 2 && concerns_open(file) && fails() ? -1 : real values; }

OF_PATH(rename, (const char *from, const char *to), (from, to), to)
OF_PATH(link, (const char *from, const char *to), (from, to), to)
OF_PATH(mkdir, (const char *path, mode_t mode), (path, mode), path)
OF_PATH(unlink, (const char *path), (path), path)
OF_FILE(int, fsync, (int file), (file))
OF_FILE(int, fdatasync, (int file), (file))
OF_FILE(int, ftruncate64, (int file, off64_t size), (file, size))
OF_FILE(ssize_t, write, (int file, const void *data, size_t size), (file, data, size))
OF_FILE(ssize_t, pwrite64, (int file, const void *data, size_t size, off64_t place), (file, data, size, place))

#define OPENING(name, arguments, values, with_mode) \
    int name arguments { \
        REAL(name); \
        mode_t mode = 0; \
        if (flags & (O_CREAT | O_TMPFILE)) { va_list rest; va_start(rest, flags); mode = va_arg(rest, int); va_end(rest); } \
        if (flags & O_CREAT && concerns(path) && fails()) return -1; \
        return flags & (O_CREAT | O_TMPFILE) ? real with_mode : real values; \
    }
OPENING(open, (const char *path, int flags, ...), (path, flags), (path, flags, mode))
OPENING(open64, (const char *path, int flags, ...), (path, flags), (path, flags, mode))
OPENING(openat, (int folder, const char *path, int flags, ...), (folder, path, flags), (folder, path, flags, mode))
OPENING(openat64, (int folder, const char *path, int flags, ...), (folder, path, flags), (folder, path, flags, mode))
