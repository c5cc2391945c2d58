/* Modules: PTX, of whose text only the declarations are read. */

#include "fake.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int is_fake_code(const void *image)
{
    const char *text = image;
    while (isspace(*text) || !strncmp(text, "//", 2))
        text += strcspn(text, "\n") + 1;
    return !strncmp(text, ".version", 8);
}

enum { ERROR_LOG = 5, ERROR_LOG_BYTES = 6 };

static CUresult loaded(Module **module, const void *image)
{
    *module = made(MODULE, sizeof(Module));
    (*module)->context = current();
    (*module)->text = strdup(image);
    return SUCCESS;
}

CUresult cuModuleLoadData(Module **module, const void *image)
{
    BEGIN("cuModuleLoadData", CURRENT, "");
    CUresult code = unsafe_in_capture();
    if (code)
        return done(code);
    if (!is_fake_code(image))
        return done(INVALID_IMAGE);
    return done(loaded(module, image));
}

static void say(unsigned count, const int *options, void **values, const char *text)
{
    char *log = NULL;
    size_t room = 0;
    for (unsigned n = 0; n < count; n++) {
        if (options[n] == ERROR_LOG)
            log = values[n];
        if (options[n] == ERROR_LOG_BYTES)
            room = (size_t)(uintptr_t)values[n];
    }
    if (log && room)
        snprintf(log, room, "%s", text);
}

/* PTX through the driver's compiler. */
CUresult cuModuleLoadDataEx(Module **module, const char *image, unsigned count, const int *options,
                            void **values)
{
    BEGIN("cuModuleLoadDataEx", CURRENT, "%u", count);
    CUresult code = unsafe_in_capture();
    if (code)
        return done(code);
    if (count && (!options || !values))
        return done(INVALID_VALUE);
    const char *refused = strstr(image, "refuse me");
    if (!is_fake_code(image) || refused) {
        say(count, options, values,
            refused ? "ptxas fake, line 1: refused, as asked" : "ptxas fake: no .version");
        return done(INVALID_PTX);
    }
    return done(loaded(module, image));
}

CUresult cuModuleUnload(Module *module)
{
    BEGIN("cuModuleUnload", CURRENT, "%p", (void *)module);
    if (!alive(MODULE, module) || module->context != current())
        return done(INVALID_HANDLE);
    size_t at = 0;
    for (Function *function; (function = each(FUNCTION, &at)) != NULL;)
        if (function->module == module)
            ended(function); /* whatever still runs */
    at = 0;
    for (Block *block; (block = each(BLOCK, &at)) != NULL;)
        if (block->memory == GLOBAL && block->owner == module)
            drop_block(block);
    ended(module);
    return done(SUCCESS);
}

/* ---- declarations */

static size_t size_of(const char *type)
{
    static const struct {
        const char *name;
        size_t size;
    } sizes[] = {{".b8", 1},  {".u8", 1},  {".s8", 1},  {".b16", 2}, {".u16", 2},  {".s16", 2},
                 {".f16", 2}, {".b32", 4}, {".u32", 4}, {".s32", 4}, {".f32", 4},  {".b64", 8},
                 {".u64", 8}, {".s64", 8}, {".f64", 8}, {".b128", 16}};
    for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++)
        if (!strcmp(type, sizes[n].name))
            return sizes[n].size;
    return 0;
}

/* Read a declaration up to one of `ends`: its bytes, its alignment and its name. */
static void declaration(const char *text, const char *ends, size_t *size, size_t *alignment,
                        char *name)
{
    char copy[512], *rest = copy, *word;
    size_t element = 0, count = 1, asked = 0;
    int pointer = 0;
    snprintf(copy, sizeof copy, "%.*s", (int)strcspn(text, ends), text);
    for (; (word = strtok_r(rest, " \t\n=", &rest)) != NULL;) {
        if (!strcmp(word, ".align"))
            asked = strtoul(strtok_r(rest, " \t\n", &rest), NULL, 10);
        else if (!strcmp(word, ".ptr"))
            pointer = 1;
        else if (*word == '.')
            element = size_of(word) ? size_of(word) : element;
        else {
            char *bracket = strchr(word, '[');
            if (bracket) {
                count = strtoul(bracket + 1, NULL, 10);
                *bracket = 0;
            }
            snprintf(name, 256, "%s", word);
            break;
        }
    }
    *size = element * count;
    *alignment = asked && !pointer ? asked : element;
}

#define PARAMETERS_AT 0x210 /* in the constant memory of devices of 9.0 */

static void read_parameters(Function *function, const char *text)
{
    const char *end = text + strcspn(text, ")");
    size_t at = 0;
    while ((text = strstr(text, ".param")) != NULL && text < end && function->count < 256) {
        char name[256] = "";
        size_t size, alignment;
        declaration(text, ",)", &size, &alignment, name);
        size_t place = at + PARAMETERS_AT; /* of which ptxas aligns the address */
        at = alignment ? (place + alignment - 1) / alignment * alignment - PARAMETERS_AT : at;
        function->offsets[function->count] = at;
        function->sizes[function->count++] = size;
        at += size;
        text += 6;
    }
    function->size = at;
}

/* Find `space name` declared at the top of the text, as .global or .shared memory. */
static size_t declared(const char *text, const char *space, const char *wanted)
{
    size_t sum = 0;
    for (; (text = strstr(text, space)) != NULL; text += strlen(space)) {
        const char *line = text;
        while (line[-1] != '\n')
            line--;
        line += strspn(line, " \t");
        int first = line == text || !strncmp(line, ".visible", 8) || !strncmp(line, ".weak", 5);
        char name[256] = "";
        size_t size, alignment;
        declaration(text, ";", &size, &alignment, name);
        if (first && (wanted == NULL || !strcmp(name, wanted)))
            sum += size;
    }
    return sum;
}

CUresult cuModuleGetFunction(Function **function, Module *module, const char *name)
{
    BEGIN("cuModuleGetFunction", CURRENT, "%s", name);
    if (!alive(MODULE, module))
        return done(INVALID_HANDLE);
    size_t length = strlen(name);
    for (const char *text = module->text; (text = strstr(text, ".entry ")) != NULL; text += 7) {
        const char *after = text + 7 + length;
        if (strncmp(text + 7, name, length) || isalnum(*after) || *after == '_' || *after == '$')
            continue;
        *function = made(FUNCTION, sizeof(Function));
        (*function)->module = module;
        snprintf((*function)->name, sizeof (*function)->name, "%s", name);
        (*function)->static_shared = (int)declared(module->text, ".shared", NULL);
        (*function)->dynamic_shared = 48 * 1024 - (*function)->static_shared;
        if (*after == '(')
            read_parameters(*function, after);
        return done(SUCCESS);
    }
    return done(NOT_FOUND);
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr *pointer, size_t *size, Module *module, const char *name)
{
    BEGIN("cuModuleGetGlobal", CURRENT, "%s", name);
    if (!alive(MODULE, module))
        return done(INVALID_HANDLE);
    size_t bytes = declared(module->text, ".global", name);
    if (!bytes)
        return done(NOT_FOUND);
    size_t at = 0;
    Block *block;
    while ((block = each(BLOCK, &at)) != NULL)
        if (block->memory == GLOBAL && block->owner == module && !strcmp(block->name, name))
            break;
    if (block == NULL) {
        block = add_block(GLOBAL, zeroed(bytes), bytes);
        block->owner = module;
        snprintf(block->name, sizeof block->name, "%s", name);
    }
    *pointer = (CUdeviceptr)block->address;
    *size = bytes;
    return done(SUCCESS);
}

/* ---- what is known of a function */

enum { MOST_THREADS, STATIC_SHARED, CONSTANT, LOCAL, REGISTERS, DYNAMIC_SHARED = 8 };
enum { NON_PORTABLE = 14 };
enum { OPTIN = 97, PER_MULTIPROCESSOR = 39, THREADS_PER_BLOCK = 1 };

CUresult cuFuncGetAttribute(int *value, int attribute, Function *function)
{
    BEGIN("cuFuncGetAttribute", CURRENT, "%d, %p", attribute, (void *)function);
    if (!alive(FUNCTION, function))
        return done(INVALID_HANDLE);
    int known[] = {[MOST_THREADS] = devices[current()->device].attributes[THREADS_PER_BLOCK],
                   [STATIC_SHARED] = function->static_shared,
                   [CONSTANT] = 24,
                   [LOCAL] = 16,
                   [REGISTERS] = 42,
                   [DYNAMIC_SHARED] = function->dynamic_shared};
    if (attribute < 0 || attribute > DYNAMIC_SHARED)
        return done(INVALID_VALUE);
    *value = known[attribute];
    return done(SUCCESS);
}

CUresult cuFuncSetAttribute(Function *function, int attribute, int value)
{
    BEGIN("cuFuncSetAttribute", CURRENT, "%p, %d, %d", (void *)function, attribute, value);
    if (!alive(FUNCTION, function))
        return done(INVALID_HANDLE);
    if (attribute == NON_PORTABLE && (value == 0 || value == 1)) {
        function->non_portable = value;
        return done(SUCCESS);
    }
    int most = devices[current()->device].attributes[OPTIN] - function->static_shared;
    if (attribute != DYNAMIC_SHARED || value < 0 || value > most)
        return done(INVALID_VALUE);
    function->dynamic_shared = value;
    return done(SUCCESS);
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, Function *function, int threads,
                                                     size_t shared)
{
    BEGIN("cuOccupancyMaxActiveBlocksPerMultiprocessor", CURRENT, "%p, %d, %zu", (void *)function,
          threads, shared);
    if (!alive(FUNCTION, function))
        return done(INVALID_HANDLE);
    if (threads <= 0)
        return done(INVALID_VALUE);
    *blocks = devices[current()->device].attributes[PER_MULTIPROCESSOR] / threads;
    return done(SUCCESS);
}

CUresult cuOccupancyMaxPotentialBlockSize(int *grid, int *block, Function *function,
                                          size_t (*shared_of)(int), size_t shared, int limit)
{
    BEGIN("cuOccupancyMaxPotentialBlockSize", CURRENT, "%p, %zu, %d", (void *)function, shared,
          limit);
    if (!alive(FUNCTION, function) || shared_of != NULL)
        return done(INVALID_HANDLE);
    const int *attributes = devices[current()->device].attributes;
    *block = attributes[THREADS_PER_BLOCK] / 2;
    *grid = attributes[PER_MULTIPROCESSOR] / *block * attributes[16];
    return done(SUCCESS);
}
