/* The static runtime: a program links it to find gridlane's libcudart without a library path. It
 * opens the installed library, else one of its name; each function of the archive calls the
 * function of its name there. The program contains nothing else, so a later installation serves it
 * as well. */
#define _GNU_SOURCE
#include "forwards.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef GL_RUNTIME
#error "GL_RUNTIME is the library's path, GL_RUNTIME_NAME its name"
#endif

/* The mark of a program with this archive; it survives strip. The vendor's runtime has none. */
__attribute__((section(".gridlane"))) static const char mark[] = GL_RUNTIME_NAME;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static void *library;

static void open_library(void)
{
    library = dlopen(GL_RUNTIME, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        library = dlopen(mark, RTLD_NOW | RTLD_LOCAL);
    if (library && !dlsym(library, "gl_process"))
        library = NULL; /* another library of this name */
    if (!library)
        fprintf(stderr, "gridlane: there is no " GL_RUNTIME ": run \"gridlane install\" again, or "
                        "\". env.sh\" of the folder where it is installed now\n");
}

/* The function of a name, stored in a static place; null where there is no library. */
void *gl_forward(void **place, const char *name)
{
    void *found = __atomic_load_n(place, __ATOMIC_ACQUIRE);
    if (found)
        return found;
    pthread_once(&once, open_library);
    if (!library)
        return NULL;
    found = dlsym(library, name);
    if (!found)
        fprintf(stderr, "gridlane: %s has no %s: run \"gridlane install\" again\n", GL_RUNTIME, name);
    __atomic_store_n(place, found, __ATOMIC_RELEASE);
    return found;
}

/* Functions that the host code of nvcc and clang calls besides the API. */
struct dim3 { unsigned x, y, z; };

GL_FORWARD(void **, __cudaRegisterFatBinary, (void *wrapper), (wrapper), NULL)
GL_FORWARD_NONE(__cudaRegisterFatBinaryEnd, (void **binary), (binary))
GL_FORWARD_NONE(__cudaUnregisterFatBinary, (void **binary), (binary))
GL_FORWARD_NONE(__cudaRegisterFunction,
                (void **binary, const char *host, char *device, const char *name, int limit,
                 void *tid, void *bid, void *block, void *grid, int *warp),
                (binary, host, device, name, limit, tid, bid, block, grid, warp))
GL_FORWARD_NONE(__cudaRegisterVar,
                (void **binary, char *host, char *device, const char *name, int external,
                 size_t size, int constant, int global),
                (binary, host, device, name, external, size, constant, global))
GL_FORWARD_NONE(__cudaRegisterManagedVar,
                (void **binary, void **host, char *device, const char *name, int external,
                 size_t size, int constant, int global),
                (binary, host, device, name, external, size, constant, global))
GL_FORWARD_NONE(__cudaRegisterTexture,
                (void **binary, const void *host, const void **device, const char *name,
                 int dimensions, int normalised, int external),
                (binary, host, device, name, dimensions, normalised, external))
GL_FORWARD_NONE(__cudaRegisterSurface,
                (void **binary, const void *host, const void **device, const char *name,
                 int dimensions, int external),
                (binary, host, device, name, dimensions, external))
GL_FORWARD_NONE(__cudaRegisterHostVar, (void **binary, const char *name, char *host, size_t size),
                (binary, name, host, size))
GL_FORWARD(char, __cudaInitModule, (void **binary), (binary), 0)
GL_FORWARD(unsigned, __cudaPushCallConfiguration,
           (struct dim3 grid, struct dim3 block, size_t shared, void *stream),
           (grid, block, shared, stream), 0)
GL_FORWARD(int, __cudaPopCallConfiguration,
           (struct dim3 *grid, struct dim3 *block, size_t *shared, void *stream),
           (grid, block, shared, stream), GL_NO_DRIVER)
GL_FORWARD(int, __cudaGetKernel, (void **made, const void *host), (made, host), GL_NO_DRIVER)
GL_FORWARD(int, __cudaLaunchKernel,
           (void *kernel, struct dim3 grid, struct dim3 block, void **arguments, size_t shared,
            void *stream),
           (kernel, grid, block, arguments, shared, stream), GL_NO_DRIVER)
GL_FORWARD(int, __cudaLaunchKernel_ptsz,
           (void *kernel, struct dim3 grid, struct dim3 block, void **arguments, size_t shared,
            void *stream),
           (kernel, grid, block, arguments, shared, stream), GL_NO_DRIVER)
