/* cuGetExportTable: the driver's undocumented tables, which only the vendor's own runtime requests.
 * gridlane has none. Each call of such a runtime fails with 500 from here on; print once whose
 * runtime it is, and the remedy. */
#define _GNU_SOURCE
#include "traced.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>

enum { INVALID_VALUE = CUDA_ERROR_INVALID_VALUE, NOT_FOUND = CUDA_ERROR_NOT_FOUND };

#define AGAIN \
    "link it again with nvcc -cudart shared, or with gridlane's runtime inside (nvcc -cudart " \
    "none ... -lcudart_gridlane, or gridlane cc)"

/* A substring of a runtime's path, and the remedy. */
static const struct { const char *path; const char *advice; } packages[] = {
    { "/cupy", "CuPy is out of gridlane's scope: it has machine code of NVIDIA's GPUs alone" },
    { "/torch/", "PyTorch is out of gridlane's scope: it has machine code of NVIDIA's GPUs alone" },
    { "/cuda/bindings/",
      "start the program with \"gridlane run\", which puts gridlane.cuda.runtime in the place of "
      "cuda.bindings.runtime" },
    { "/libcudart.so",
      "it comes before gridlane's libcudart; \"gridlane doctor PROGRAM\" says by which rule of "
      "the loader" },
};

enum { PACKAGES = sizeof packages / sizeof *packages };

/* NVIDIA's compilers request a table as well, and work without one. */
static int is_compiler(const char *path)
{
    return strstr(path, "/libnvrtc") || strstr(path, "/libnvJitLink");
}

static const char *advice_for(const char *path)
{
    for (int n = 0; n < PACKAGES; n++)
        if (strstr(path, packages[n].path))
            return packages[n].advice;
    return NULL;
}

/* PyTorch and CuPy load their runtime from a package of NVIDIA. */
static int find_user(struct dl_phdr_info *info, size_t size, void *found)
{
    (void)size;
    for (int n = 0; n < 2; n++)
        if (strstr(info->dlpi_name, packages[n].path))
            return *(const char **)found = packages[n].advice, 1;
    return 0;
}

static void explain(const void *caller)
{
    static int told;
    Dl_info from;
    const char *advice = NULL, *path = "the program";
    if (dladdr(caller, &from) && from.dli_fname && *from.dli_fname)
        path = from.dli_fname;
    if (is_compiler(path) || __atomic_exchange_n(&told, 1, __ATOMIC_RELAXED))
        return;
    advice = advice_for(path);
    if (advice && strstr(path, "/libcudart.so"))
        dl_iterate_phdr(find_user, &advice);
    if (!advice)
        advice = dlsym(RTLD_DEFAULT, "gl_preloaded")
                     ? "no symbols of it are left to replace it by: " AGAIN ", or leave its "
                       "symbols in"
                     : "start the program with \"gridlane exec\", which replaces it; if its "
                       "symbols are stripped, " AGAIN;
    fprintf(stderr, "gridlane: %s has NVIDIA's runtime inside, which does not run on gridlane: "
            "%s\n", path, advice);
}

GL_EXPORT int cuGetExportTable(const void **table, const void *id)
{
    static struct gl_slot slot = { "driver:__traced_cuGetExportTable", 0 };
    const uint64_t words[] = { (uintptr_t)table, (uintptr_t)id };
    uint64_t began = gl_began();
    int code = table && id ? NOT_FOUND : INVALID_VALUE;
    explain(__builtin_return_address(0));
    gl_ended(began, &slot, words, 2, (uint64_t)code);
    return code;
}
