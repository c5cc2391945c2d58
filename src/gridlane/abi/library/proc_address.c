/* cuGetProcAddress: the driver's functions by name and version. */
#include "traced.h"

#include <string.h>

enum {
    SUCCESS,
    INVALID_VALUE = CUDA_ERROR_INVALID_VALUE,
    NOT_FOUND = CUDA_ERROR_NOT_FOUND
};
enum { FOUND, NO_SYMBOL, NO_VERSION }; /* CUdriverProcAddressQueryResult */
enum { LEGACY = 1, PER_THREAD = 2 };   /* CUdriverProcAddress_flags */

extern const struct gl_symbol gl_symbols[];
extern const int gl_symbol_count;

/* The first row of a name, or the number of rows. */
static int first(const char *name)
{
    int low = 0, high = gl_symbol_count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (strcmp(gl_symbols[middle].base, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int find(const char *name, int version, uint64_t flags, void **made)
{
    int status = NO_SYMBOL;
    *made = NULL;
    for (int n = first(name); n < gl_symbol_count; n++) {
        const struct gl_symbol *each = &gl_symbols[n];
        if (strcmp(each->base, name))
            break;
        if (each->since > version) {
            status = *made ? FOUND : NO_VERSION;
            break;
        }
        *made = flags & PER_THREAD && each->per_thread ? each->per_thread : each->plain;
        status = FOUND;
    }
    return status;
}

static int answer(const char *symbol, void **made, int version, uint64_t flags, int *status)
{
    if (!symbol || !made || flags & ~(uint64_t)(LEGACY | PER_THREAD))
        return INVALID_VALUE;
    *status = find(symbol, version, flags, made);
    return SUCCESS;
}

GL_EXPORT int cuGetProcAddress_v2(const char *symbol, void **made, int version, uint64_t flags,
                                  int *status)
{
    static struct gl_slot slot = { "driver:__traced_cuGetProcAddress_v2", 0 };
    const uint64_t words[] = { (uintptr_t)symbol, (uintptr_t)made, (uint64_t)version, flags,
                               (uintptr_t)status };
    uint64_t began = gl_began();
    int unread;
    int code = answer(symbol, made, version, flags, status ? status : &unread);
    gl_ended(began, &slot, words, 5, (uint64_t)code);
    return code;
}

GL_EXPORT int cuGetProcAddress(const char *symbol, void **made, int version, uint64_t flags)
{
    static struct gl_slot slot = { "driver:__traced_cuGetProcAddress", 0 };
    const uint64_t words[] = { (uintptr_t)symbol, (uintptr_t)made, (uint64_t)version, flags };
    uint64_t began = gl_began();
    int found = FOUND;
    int code = answer(symbol, made, version, flags, &found);
    code = found == FOUND ? code : NOT_FOUND;
    gl_ended(began, &slot, words, 4, (uint64_t)code);
    return code;
}
