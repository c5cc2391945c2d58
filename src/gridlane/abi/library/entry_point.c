/* Functions that depend on the library's version of CUDA: the version itself, and
 * cudaGetDriverEntryPoint, which returns the driver's functions of the libcuda beside this
 * library. */
#define _GNU_SOURCE
#include "traced.h"

#include <dlfcn.h>
#include <stdio.h>

enum {
    SUCCESS,
    INVALID_VALUE = CUDA_ERROR_INVALID_VALUE,
    NO_DRIVER = cudaErrorInsufficientDriver,
    NOT_FOUND = CUDA_ERROR_NOT_FOUND
};
enum { PER_THREAD = 2, MOST_FLAGS = 2, OLDEST = 2000, NEWEST = 13000 };

typedef int get_address(const char *, void **, int, uint64_t, int *);

/* gridlane's libcuda: another libcuda has none of this library's handles. */
static get_address *driver(void)
{
    static get_address *found;
    char path[4096];
    Dl_info own;
    if (__atomic_load_n(&found, __ATOMIC_ACQUIRE))
        return found;
    int is_known = dladdr((void *)(uintptr_t)driver, &own) && own.dli_fname;
    const char *slash = is_known ? strrchr(own.dli_fname, '/') : NULL;
    int length = slash ? (int)(slash - own.dli_fname) + 1 : 0;
    if ((size_t)snprintf(path, sizeof path, "%.*slibcuda.so.1", length, slash ? own.dli_fname : "")
        >= sizeof path)
        return NULL;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    library = library ? library : dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library || !dlsym(library, "gl_process"))
        return NULL;
    get_address *made = (get_address *)(uintptr_t)dlsym(library, "cuGetProcAddress_v2");
    __atomic_store_n(&found, made, __ATOMIC_RELEASE);
    return made;
}

static int find(const char *symbol, void **made, int version, uint64_t flags, int *status)
{
    if (!symbol || !made || flags > MOST_FLAGS || version < OLDEST || version > NEWEST)
        return INVALID_VALUE;
    *made = NULL;
    get_address *ask = driver();
    return ask ? ask(symbol, made, version, flags, status) : NO_DRIVER;
}

/* Store a failure as the thread's last error. */
static int noted(int code)
{
    static struct gl_slot slot = { "runtime:__note", 0 };
    const uint64_t words[] = { (uint64_t)code };
    if (code)
        gl_enter(&slot, words, 1);
    return code;
}

GL_EXPORT int cudaRuntimeGetVersion(int *made)
{
    static struct gl_slot slot = { "runtime:__traced_cudaRuntimeGetVersion", 0, 0 };
    const uint64_t words[] = { (uintptr_t)made };
    uint64_t began = gl_began();
    int code = noted(made ? SUCCESS : INVALID_VALUE);
    if (made) /* the last one of each */
        *made = atoi(GL_MAJOR) == 12 ? 12090 : 13000;
    gl_ended(began, &slot, words, 1, (uint64_t)code);
    return code;
}

#define WITH_SUFFIX(suffix, per_thread)                                                           \
    GL_EXPORT int cudaGetDriverEntryPoint##suffix(const char *symbol, void **made,                \
                                                  unsigned long long flags, int *status)          \
    {                                                                                             \
        static struct gl_slot slot = { "runtime:__traced_cudaGetDriverEntryPoint", 0 };           \
        const uint64_t words[] = { (uintptr_t)symbol, (uintptr_t)made, flags,                     \
                                   (uintptr_t)status };                                           \
        uint64_t began = gl_began();                                                              \
        int code = noted(find(symbol, made, 1000 * atoi(GL_MAJOR), flags ? flags : per_thread,    \
                              status));                                                           \
        gl_ended(began, &slot, words, 4, (uint64_t)code);                                         \
        return code;                                                                              \
    }                                                                                             \
    GL_EXPORT int cudaGetDriverEntryPointByVersion##suffix(                                       \
        const char *symbol, void **made, unsigned version, unsigned long long flags, int *status) \
    {                                                                                             \
        static struct gl_slot slot = { "runtime:__traced_cudaGetDriverEntryPointByVersion", 0 };  \
        const uint64_t words[] = { (uintptr_t)symbol, (uintptr_t)made, version, flags,            \
                                   (uintptr_t)status };                                           \
        uint64_t began = gl_began();                                                              \
        int known = version <= NEWEST ? (int)version : NEWEST + 1;                                \
        int code = noted(find(symbol, made, known, flags ? flags : per_thread, status));          \
        gl_ended(began, &slot, words, 5, (uint64_t)code);                                         \
        return code;                                                                              \
    }

WITH_SUFFIX(, 0)
WITH_SUFFIX(_ptsz, PER_THREAD)
