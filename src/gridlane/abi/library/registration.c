/* Records of what nvcc's host code registers before main: the program's fatbins, kernels and
 * variables. Nothing is read or compiled then: the records wait until Python is entered. */
#include "ready.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct dim3 { uint32_t x, y, z; };

enum kind { WITHDRAWN, BINARY, FUNCTION, VARIABLE, MANAGED, TEXTURE, SURFACE, GONE };

struct record {
    uint64_t kind, binary, host, name, size, flags;
};

/* A fatbin that a program registered; its address is the handle. */
struct binary {
    void *wrapper;
};

enum { CONSTANT = 1, EXTERNAL = 2 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct record *records; /* from the number "first" on; Python has the earlier ones */
static size_t first, count, room, copied, told; /* records that were copied may be in transfer now */

static void add(enum kind kind, void *binary, const void *host, const char *name, size_t size,
                int flags)
{
    if (gl_process.forked)
        return; /* Fork: there is no reader, and a thread of the parent may have held the lock */
    pthread_mutex_lock(&lock);
    if (count - first == room) {
        size_t more = room ? 2 * room : 64;
        struct record *larger = realloc(records, more * sizeof *records);
        if (!larger)
            abort(); /* before main there was no reader */
        records = larger;
        room = more;
    }
    records[count - first] = (struct record){ kind, (uintptr_t)binary, (uintptr_t)host,
                                              (uintptr_t)name, size, (uint64_t)flags };
    __atomic_store_n(&count, count + 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
}

int gl_told_all(void)
{
    return __atomic_load_n(&told, __ATOMIC_ACQUIRE) == __atomic_load_n(&count, __ATOMIC_ACQUIRE);
}

/* The meaning of a host address that Python does not have yet; the last record counts. */
int gl_registered(uint64_t host, struct gl_kernel *made)
{
    uint64_t binary = 0;
    made->name = NULL;
    made->wrapper = NULL;
    pthread_mutex_lock(&lock);
    for (size_t n = count; n-- && !made->wrapper;) {
        if (!binary && records[n].kind == FUNCTION && records[n].host == host) {
            binary = records[n].binary;
            made->name = (const char *)(uintptr_t)records[n].name;
        } else if (binary && records[n].kind == BINARY && records[n].binary == binary) {
            made->wrapper = (const void *)(uintptr_t)records[n].host;
        }
    }
    pthread_mutex_unlock(&lock);
    return made->wrapper != NULL;
}

/* Publish to Python the records since the last call. Several threads may publish the same ones:
 * Python accepts each record once, and no thread continues before Python has the records that it
 * saw. */
void gl_before(gl_caller *enter)
{
    static struct gl_slot slot = { "runtime:__register", 0 };
    if (gl_told_all())
        return;
    pthread_mutex_lock(&lock);
    size_t from = told, to = count;
    struct record *copy = malloc((to - from) * sizeof *copy);
    if (copy)
        memcpy(copy, records + (from - first), (to - from) * sizeof *copy);
    if (copy && copied < to)
        copied = to;
    pthread_mutex_unlock(&lock);
    if (!copy)
        return; /* the next call publishes them */
    uint64_t words[] = { (uintptr_t)&records, from, (uintptr_t)copy, to - from };
    uint64_t code = enter(&slot, words, 4);
    free(copy);
    pthread_mutex_lock(&lock);
    if (!code && told < to)
        __atomic_store_n(&told, to, __ATOMIC_RELEASE);
    if (told == count)
        first = count;
    pthread_mutex_unlock(&lock);
}

GL_EXPORT void **__cudaRegisterFatBinary(void *wrapper)
{
    struct binary *made = malloc(sizeof *made);
    if (!made)
        abort();
    made->wrapper = wrapper;
    add(BINARY, made, wrapper, NULL, 0, 0);
    return (void **)made;
}

GL_EXPORT void __cudaRegisterFatBinaryEnd(void **binary)
{
    (void)binary;
}

/* Lifetime: the names in records belong to the program, which may be unloaded after this. */
GL_EXPORT void __cudaUnregisterFatBinary(void **binary)
{
    int known = 1;
    if (gl_process.forked)
        return;
    pthread_mutex_lock(&lock);
    for (size_t n = copied; n < count; n++) {
        struct record *each = &records[n - first];
        if (each->binary == (uintptr_t)binary && each->kind != GONE) { /* of an earlier image */
            known = known && each->kind != BINARY;
            each->kind = WITHDRAWN;
        }
    }
    pthread_mutex_unlock(&lock);
    add(known ? GONE : WITHDRAWN, binary, NULL, NULL, 0, 0);
    gl_ready_forget();
    free(binary); /* the next image may have its address */
}

GL_EXPORT void __cudaRegisterFunction(void **binary, const char *host, char *device,
                                      const char *name, int limit, void *tid, void *bid,
                                      void *block, void *grid, int *warp)
{
    (void)device, (void)limit, (void)tid, (void)bid, (void)block, (void)grid, (void)warp;
    add(FUNCTION, binary, host, name, 0, 0);
}

GL_EXPORT void __cudaRegisterVar(void **binary, char *host, char *device, const char *name,
                                 int external, size_t size, int constant, int global)
{
    (void)device, (void)global;
    add(VARIABLE, binary, host, name, size, (constant ? CONSTANT : 0) | (external ? EXTERNAL : 0));
}

GL_EXPORT void __cudaRegisterManagedVar(void **binary, void **host, char *device, const char *name,
                                        int external, size_t size, int constant, int global)
{
    (void)device, (void)global;
    add(MANAGED, binary, host, name, size, (constant ? CONSTANT : 0) | (external ? EXTERNAL : 0));
}

GL_EXPORT void __cudaRegisterTexture(void **binary, const void *host, const void **device,
                                     const char *name, int dimensions, int normalised, int external)
{
    (void)device, (void)dimensions, (void)normalised, (void)external;
    add(TEXTURE, binary, host, name, 0, 0);
}

GL_EXPORT void __cudaRegisterSurface(void **binary, const void *host, const void **device,
                                     const char *name, int dimensions, int external)
{
    (void)device, (void)dimensions, (void)external;
    add(SURFACE, binary, host, name, 0, 0);
}

GL_EXPORT void __cudaRegisterHostVar(void **binary, const char *name, char *host, size_t size)
{
    add(VARIABLE, binary, host, name, size, EXTERNAL);
}

/* Allocate the managed variables of a program, and set their host pointers. */
GL_EXPORT char __cudaInitModule(void **binary)
{
    static struct gl_slot slot = { "runtime:__initialise_module", 0 };
    uint64_t words[] = { (uintptr_t)binary };
    return gl_enter(&slot, words, 1) == 0;
}

/* --- launches: <<<grid, block>>> pushes a shape, and the kernel's stub pops it --- */

struct shape {
    struct dim3 grid, block;
    size_t shared;
    void *stream;
};

/* A launch whose arguments throw leaves its shape here for good. So only the last few are kept, as
 * many as launches can nest in each other's arguments. */
enum { DEEPEST = 64, MISSING_CONFIGURATION = cudaErrorMissingConfiguration };
static __thread struct shape shapes[DEEPEST];
static __thread unsigned depth;

GL_EXPORT unsigned __cudaPushCallConfiguration(struct dim3 grid, struct dim3 block, size_t shared,
                                               void *stream)
{
    shapes[depth++ % DEEPEST] = (struct shape){ grid, block, shared, stream };
    return 0;
}

GL_EXPORT int __cudaPopCallConfiguration(struct dim3 *grid, struct dim3 *block, size_t *shared,
                                         void *stream)
{
    if (!depth)
        return MISSING_CONFIGURATION;
    struct shape *top = &shapes[--depth % DEEPEST];
    *grid = top->grid;
    *block = top->block;
    *shared = top->shared;
    memcpy(stream, &top->stream, sizeof top->stream);
    return 0;
}

/* The address of its stub in the program identifies a kernel. */
GL_EXPORT int __cudaGetKernel(void **made, const void *host)
{
    *made = (void *)host;
    return 0;
}

int cudaLaunchKernel(void *host, struct dim3 grid, struct dim3 block, void *arguments,
                     size_t shared, void *stream);
int cudaLaunchKernel_ptsz(void *host, struct dim3 grid, struct dim3 block, void *arguments,
                          size_t shared, void *stream);

GL_EXPORT int __cudaLaunchKernel(void *kernel, struct dim3 grid, struct dim3 block,
                                 void **arguments, size_t shared, void *stream)
{
    return cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
}

GL_EXPORT int __cudaLaunchKernel_ptsz(void *kernel, struct dim3 grid, struct dim3 block,
                                      void **arguments, size_t shared, void *stream)
{
    return cudaLaunchKernel_ptsz(kernel, grid, block, arguments, shared, stream);
}
