/* The fault layer: counts durable calls on paths that contain a text, over all processes, and at the Nth kills or refuses.

   Preloaded into the harness's warm process and inherited by every fork of it. `layer.py` maps the same file and has the
   same structure. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static struct plan {
    atomic_int armed, calls, first, last; /* the calls from `first` to `last` fail */
    atomic_int error;                     /* an errno; 0 kills the process group of `group`, or the caller where it is 0 */
    atomic_int group, fired;
    char path[256];                       /* a text of the paths */
} *plan;

__attribute__((constructor)) static void attach(void) {
    const char *name = getenv("FAULT_LAYER_PLAN");
    int file = name ? open(name, O_RDWR | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *mapped = mmap(NULL, sizeof *plan, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (mapped != MAP_FAILED) plan = mapped;
    close(file);
}

static int fails(const char *path) {
    if (!plan || !plan->armed || !path || !strstr(path, plan->path)) return 0;
    int number = ++plan->calls;
    if (number < plan->first || number > plan->last) return 0;
    plan->fired++;
    if (!plan->error) {
        if (plan->group) kill(-plan->group, SIGKILL);
        kill(getpid(), SIGKILL);
    }
    errno = plan->error;
    return 1;
}

static int descriptor_fails(int file) {
    if (!plan || !plan->armed) return 0;
    char link[32], path[PATH_MAX] = "";
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    return readlink(link, path, sizeof path - 1) > 0 && fails(path);
}

#define FIND(name) static __typeof__(&name) real; if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)
#define ON_FILE(type, name, parameters, arguments, file) \
    type name parameters { FIND(name); return descriptor_fails(file) ? (type)-1 : real arguments; }
#define ON_PATH(name, parameters, arguments, path) \
    int name parameters { FIND(name); return fails(path) ? -1 : real arguments; }
#define OPENING(name, parameters, arguments) \
    int name parameters { \
        FIND(name); \
        mode_t mode = 0; \
        if (flags & O_CREAT) { va_list more; va_start(more, flags); mode = va_arg(more, mode_t); va_end(more); } \
        return (flags & O_CREAT) && fails(path) ? -1 : real arguments; \
    }

ON_FILE(ssize_t, write, (int file, const void *from, size_t size), (file, from, size), file)
ON_FILE(ssize_t, pwrite, (int file, const void *from, size_t size, off_t at), (file, from, size, at), file)
ON_FILE(ssize_t, pwrite64, (int file, const void *from, size_t size, off64_t at), (file, from, size, at), file)
ON_FILE(int, fsync, (int file), (file), file)
ON_FILE(int, fdatasync, (int file), (file), file)
ON_FILE(int, ftruncate, (int file, off_t size), (file, size), file)
ON_FILE(int, ftruncate64, (int file, off64_t size), (file, size), file)
ON_PATH(rename, (const char *from, const char *to), (from, to), to)
ON_PATH(mkdir, (const char *path, mode_t mode), (path, mode), path)
ON_PATH(unlink, (const char *path), (path), path)
ON_PATH(rmdir, (const char *path), (path), path)
OPENING(open, (const char *path, int flags, ...), (path, flags, mode))
OPENING(open64, (const char *path, int flags, ...), (path, flags, mode))
OPENING(openat, (int folder, const char *path, int flags, ...), (folder, path, flags, mode))
