/* The fault layer: counts durable calls on paths that contain a text, over all processes, and at the Nth kills or refuses.

   Preloaded into the harness's warm process and inherited by every fork of it. `tools/faults/layer.py` maps the same
   file and has the same structure. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct plan {
    atomic_int armed, calls, first, last; /* the calls from `first` to `last` fail */
    atomic_int error;                     /* an errno; 0 kills the process group of `group`, or the caller where it is 0 */
    atomic_int group, fired;
    atomic_long clock_step;               /* seconds that the wall clock goes back at each second of the monotonic one */
    char path[256], place[256];           /* a text of the paths; the path of the first fault */
};

static struct plan *plan;

__attribute__((constructor)) static void attach(void) {
    const char *name = getenv("FAULT_LAYER_PLAN");
    int file = name ? open(name, O_RDWR | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *mapped = mmap(NULL, sizeof(struct plan), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (mapped != MAP_FAILED) plan = mapped;
    close(file);
}

static int fails(const char *path) {
    if (!plan || !atomic_load(&plan->armed) || !path || !strstr(path, plan->path)) return 0;
    int number = atomic_fetch_add(&plan->calls, 1) + 1;
    if (number < atomic_load(&plan->first) || number > atomic_load(&plan->last)) return 0;
    if (atomic_fetch_add(&plan->fired, 1) == 0) strncpy(plan->place, path, sizeof plan->place - 1);
    int error = atomic_load(&plan->error), group = atomic_load(&plan->group);
    if (!error) {
        if (group) kill(-group, SIGKILL);
        kill(getpid(), SIGKILL);
    }
    errno = error;
    return 1;
}

static int descriptor_fails(int file) {
    if (!plan || !atomic_load(&plan->armed)) return 0;
    char link[32] = "/proc/self/fd/", path[PATH_MAX];
    char digits[12], *end = digits + sizeof digits - 1;
    int rest = file;
    *end = 0;
    do *--end = (char)('0' + rest % 10); while (rest /= 10);
    strcat(link, end);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return fails(path);
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

int clock_gettime(clockid_t clock, struct timespec *now) {
    FIND(clock_gettime);
    int done = real(clock, now);
    if (plan && clock == CLOCK_REALTIME && atomic_load(&plan->clock_step)) {
        struct timespec monotonic;
        real(CLOCK_MONOTONIC, &monotonic);
        now->tv_sec -= monotonic.tv_sec % 86400 * atomic_load(&plan->clock_step);
    }
    return done;
}
