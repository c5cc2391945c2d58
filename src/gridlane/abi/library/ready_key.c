/* The keys of ready files: digests of everything that decides the code of a kernel.
 *
 * One key is the process's: the files of gridlane and of LLVM by name, size and time, the features
 * and the number of processors, and the environment's variables for gridlane. The key of a kernel
 * is made from that one, the image, the name and the shape of a block. Python calls C for the keys,
 * so there is one implementation. */
#define _GNU_SOURCE
#include "ready.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>

extern char **environ;

enum { DEEPEST = 16 }; /* nested folders */
static const uint32_t FATBIN = 0xba55ed50, WRAPPER = 0x466243b1;
static const uint64_t LARGEST = 1ull << 30; /* bytes of an image */

static struct gl_ready_key key = { .package = GL_PACKAGE };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int state; /* 1 when the key is made, -1 when there is none */

static void add_text(struct gl_digest *digest, const char *text)
{
    gl_digest_add(digest, text, strlen(text) + 1);
}

/* --- the environment --- */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The variables that Python reads; see core/config.py. The place of the cache decides no code. */
static int is_ours(const char *line)
{
    return (!strncmp(line, "GRIDLANE_", 9) && strncmp(line, "GRIDLANE_CACHE_DIR=", 19)) ||
           !strncmp(line, "CUDA_", 5);
}

static char *environment(void)
{
    const char **lines = NULL;
    size_t count = 0, size = 1;
    for (char **each = environ; each && *each; each++)
        count += is_ours(*each) != 0;
    lines = calloc(count + 1, sizeof *lines);
    if (!lines)
        return NULL;
    size_t n = 0;
    for (char **each = environ; each && *each && n < count; each++)
        if (is_ours(*each)) {
            lines[n++] = *each;
            size += strlen(*each) + 1;
        }
    qsort(lines, n, sizeof *lines, by_text);
    char *made = malloc(size), *end = made;
    for (size_t m = 0; made && m < n; m++) {
        size_t length = strlen(lines[m]);
        memcpy(end, lines[m], length);
        end[length] = '\n';
        end += length + 1;
    }
    if (made)
        *end = 0;
    free(lines);
    return made;
}

/* Settings that need Python, or change what it does. */
static int asks_for_python(void)
{
    static const char *const others[] = { "GRIDLANE_TRACE", "GRIDLANE_DUMP", "GRIDLANE_CHECK",
                                          "CUDA_VISIBLE_DEVICES", "GRIDLANE_VERIFY",
                                          "GRIDLANE_OVERRIDE" };
    for (size_t n = 0; n < sizeof others / sizeof *others; n++)
        if (getenv(others[n]))
            return 1;
    const char *device = getenv("GRIDLANE_DEVICE"), *native = getenv("GRIDLANE_NATIVE");
    const char *cache = getenv("GRIDLANE_CACHE");
    return (device && strcmp(device, "cpu")) || (native && strcmp(native, "1")) ||
           (cache && strcmp(cache, "1"));
}

/* --- files --- */

static int add_file(struct gl_digest *digest, int at, const char *name)
{
    struct stat info;
    if (fstatat(at, name, &info, 0))
        return 0;
    const uint64_t facts[] = { (uint64_t)info.st_size, (uint64_t)info.st_mtim.tv_sec,
                               (uint64_t)info.st_mtim.tv_nsec };
    add_text(digest, name);
    gl_digest_add(digest, facts, sizeof facts);
    return 1;
}

/* Whether a link points to a folder, whose files would have to be examined as well. */
static int leads_to_folder(int at, const struct dirent *each)
{
    struct stat info;
    return each->d_type == DT_LNK && !fstatat(at, each->d_name, &info, 0) && S_ISDIR(info.st_mode);
}

static int ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), last = strlen(end);
    return length > last && !strcmp(text + length - last, end);
}

static int is_source(const struct dirent *each)
{
    const char *name = each->d_name;
    if (each->d_type == DT_DIR)
        return name[0] != '.' && strcmp(name, "__pycache__");
    return !ends_with(name, ".pyc") && !ends_with(name, ".md");
}

static int is_path_file(const struct dirent *each)
{
    return ends_with(each->d_name, ".pth");
}

/* Not alphasort: its order depends on the locale. */
static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* All files of a folder and its subfolders, ordered by name. */
static int add_folder(struct gl_digest *digest, int at, const char *name,
                      int (*wanted)(const struct dirent *), int depth)
{
    struct dirent **found;
    int handle = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC), done = handle >= 0;
    int count = done && depth ? scandirat(handle, ".", &found, wanted, by_name) : -1;
    done = count >= 0;
    add_text(digest, name);
    for (int n = 0; n < count; n++) {
        const int type = found[n]->d_type;
        /* A folder may look like a file there. */
        done = done && type != DT_UNKNOWN && !leads_to_folder(handle, found[n]);
        if (done)
            done = type == DT_DIR ? add_folder(digest, handle, found[n]->d_name, wanted, depth - 1)
                                  : add_file(digest, handle, found[n]->d_name);
        free(found[n]);
    }
    if (count >= 0)
        free(found);
    if (handle >= 0)
        close(handle);
    add_text(digest, "");
    return done;
}

/* --- the processor --- */

static void add_processor(struct gl_digest *digest)
{
    static const uint32_t leaves[][2] = { { 0, 0 },    { 1, 0 },          { 7, 0 },
                                          { 7, 1 },    { 7, 2 },          { 0xd, 1 },
                                          { 0x14, 0 }, { 0x19, 0 },       { 0x24, 0 },
                                          { 0x80000001, 0 }, { 0x80000008, 0 } };
    for (size_t n = 0; n < sizeof leaves / sizeof *leaves; n++) {
        uint32_t words[4] = { 0 };
        __get_cpuid_count(leaves[n][0], leaves[n][1], &words[0], &words[1], &words[2], &words[3]);
        if (leaves[n][0] == 1)
            words[1] = 0; /* the processor that this thread runs on */
        gl_digest_add(digest, words, sizeof words);
    }
    uint32_t low = 0, high = 0, one, two, three = 0, four;
    if (__get_cpuid(1, &one, &two, &three, &four) && three & bit_OSXSAVE)
        __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    const uint64_t saved = (uint64_t)high << 32 | low;
    gl_digest_add(digest, &saved, sizeof saved);
    cpu_set_t set;
    CPU_ZERO(&set);
    const int32_t count = sched_getaffinity(0, sizeof set, &set) ? -1 : CPU_COUNT(&set);
    gl_digest_add(digest, &count, sizeof count);
}

/* --- the keys --- */

static int make_key(void)
{
    struct gl_digest digest;
    if (getauxval(AT_SECURE) || asks_for_python())
        return 0;
    key.environment = environment();
    if (!key.environment)
        return 0;
    gl_digest_begin(&digest);
    add_text(&digest, "process 1");
    add_text(&digest, GL_PACKAGE);
    add_text(&digest, GL_LIBPYTHON);
    add_text(&digest, GL_SITE);
    add_text(&digest, GL_VERSION);
    add_text(&digest, GL_MARK);
    add_text(&digest, key.environment);
    add_processor(&digest);
    int done = add_folder(&digest, AT_FDCWD, GL_PACKAGE, is_source, DEEPEST) &&
               add_folder(&digest, AT_FDCWD, GL_SITE, is_path_file, 1) &&
               add_file(&digest, AT_FDCWD, GL_SITE) && add_file(&digest, AT_FDCWD, GL_LLVM);
    gl_digest_end(&digest, key.of_device);
    return done;
}

const struct gl_ready_key *gl_ready_key(void)
{
    pthread_mutex_lock(&lock);
    if (!state)
        state = !gl_process.entered && make_key() ? 1 : -1;
    int known = state;
    pthread_mutex_unlock(&lock);
    return known > 0 ? &key : NULL;
}

/* The fatbin of a wrapper, of the only kind that contains all of its code. */
static int add_image(struct gl_digest *digest, const void *wrapper)
{
    struct { uint32_t magic, version; const uint8_t *data; } head;
    struct { uint32_t magic; uint16_t version, size; uint64_t rest; } region;
    memcpy(&head, wrapper, sizeof head);
    if (head.magic != WRAPPER || head.version != 1 || !head.data)
        return 0;
    memcpy(&region, head.data, sizeof region);
    if (region.magic != FATBIN || region.rest > LARGEST)
        return 0;
    gl_digest_add(digest, head.data, region.size + region.rest);
    return 1;
}

int gl_ready_key_of(uint64_t function, const uint32_t *block, uint8_t *made)
{
    struct gl_kernel kernel;
    struct gl_digest digest;
    const struct gl_ready_key *device = gl_ready_key();
    if (!device || !gl_registered(function, &kernel))
        return 0;
    gl_digest_begin(&digest);
    gl_digest_add(&digest, device->of_device, GL_DIGEST);
    add_text(&digest, "kernel");
    add_text(&digest, kernel.name);
    gl_digest_add(&digest, block, 3 * sizeof *block);
    int done = add_image(&digest, kernel.wrapper);
    gl_digest_end(&digest, made);
    return done;
}

#else /* Python does all of it */

const struct gl_ready_key *gl_ready_key(void)
{
    return NULL;
}

int gl_ready_key_of(uint64_t function, const uint32_t *block, uint8_t *made)
{
    (void)function, (void)block, (void)made;
    return 0;
}

#endif
