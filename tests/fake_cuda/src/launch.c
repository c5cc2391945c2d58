/* Launches: checked, written down in the order in which they run, and told to the test that asked
   to stand for the kernel. */

#include "fake.h"

#include <stdlib.h>
#include <string.h>

#define MOST_LAUNCHES 4096
#define MOST_HOOKS 64

enum { BUFFER_END, BUFFER, BUFFER_SIZE };
enum { MOST_X = 2, GRID_X = 5, MOST_THREADS = 1, MULTIPROCESSORS = 16, COOPERATIVE = 95,
       CLUSTER_LAUNCH = 120 };

typedef int (*Hook)(const Launch *);

static Launch launches[MOST_LAUNCHES];
static int launch_count;
static struct {
    char name[256];
    Hook run;
} hooks[MOST_HOOKS];

void forget_launches(void)
{
    launch_count = 0;
    memset(hooks, 0, sizeof hooks);
}

int fake_launches(void)
{
    return launch_count;
}

const Launch *fake_launch(int number)
{
    return &launches[number];
}

/* What to do when a kernel runs: a function that returns 0, or the fault to bring down. A name that
   ends in * is the start of one. */
void fake_hook(const char *name, Hook hook)
{
    int n = 0;
    while (n < MOST_HOOKS - 1 && hooks[n].run)
        n++;
    strncpy(hooks[n].name, name, sizeof hooks[n].name - 1);
    hooks[n].run = hook;
}

static int fits(const char *pattern, const char *name)
{
    size_t length = strlen(pattern);
    if (length && pattern[length - 1] == '*')
        return !strncmp(pattern, name, length - 1);
    return !strcmp(pattern, name);
}

void run_launch(Context *context, Launch *launch)
{
    if (launch_count == MOST_LAUNCHES)
        abort();
    launches[launch_count++] = *launch;
    for (int n = MOST_HOOKS - 1; n >= 0; n--) {
        if (!hooks[n].run || !fits(hooks[n].name, launch->name))
            continue;
        in_callback(1);
        int fault = hooks[n].run(launch);
        in_callback(0);
        if (fault)
            context->sticky = fault;
        return;
    }
}

static int shape_is_possible(Function *function, const Launch *launch)
{
    const int *attributes = devices[current()->device].attributes;
    uint64_t threads = 1;
    for (int n = 0; n < 3; n++) {
        threads *= launch->block[n];
        if (!launch->block[n] || launch->block[n] > (unsigned)attributes[MOST_X + n] ||
            !launch->grid[n] || launch->grid[n] > (unsigned)attributes[GRID_X + n])
            return 0;
    }
    return threads <= (uint64_t)attributes[MOST_THREADS] &&
           launch->shared <= (unsigned)function->dynamic_shared;
}

/* The bytes of the parameters, from an array of pointers or from one block. */
static CUresult take_parameters(Function *function, Launch *launch, void **params, void **extra)
{
    if (function->size > sizeof launch->params)
        return INVALID_VALUE;
    launch->size = function->size;
    if (params != NULL) {
        for (size_t n = 0; n < function->count; n++)
            memcpy(launch->params + function->offsets[n], params[n], function->sizes[n]);
        return extra == NULL ? SUCCESS : INVALID_VALUE;
    }
    void *block = NULL;
    size_t size = 0;
    for (; extra != NULL && (uintptr_t)*extra != BUFFER_END; extra += 2) {
        if ((uintptr_t)*extra == BUFFER)
            block = extra[1];
        else if ((uintptr_t)*extra == BUFFER_SIZE)
            size = *(size_t *)extra[1];
        else
            return INVALID_VALUE;
    }
    if (size != function->size || (size && block == NULL))
        return INVALID_VALUE;
    if (size)
        memcpy(launch->params, block, size);
    return SUCCESS;
}

static CUresult launched(Function *function, Launch *launch, void **params, void **extra)
{
    Stream *stream = stream_of(launch->stream);
    if (stream == NULL || !alive(FUNCTION, function) || function->module->context != current())
        return INVALID_HANDLE;
    if (!shape_is_possible(function, launch))
        return INVALID_VALUE;
    CUresult code = take_parameters(function, launch, params, extra);
    if (code)
        return code;
    strcpy(launch->name, function->name);
    launch->device = current()->device;
    Operation *what = operation(LAUNCH);
    what->kernel = function;
    what->launch = malloc(sizeof *launch);
    *what->launch = *launch;
    return enqueue(stream, what);
}

CUresult cuLaunchKernel(Function *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                        unsigned by, unsigned bz, unsigned shared, uint64_t stream, void **params,
                        void **extra)
{
    BEGIN("cuLaunchKernel", CURRENT, "%s, %ux%ux%u, %ux%ux%u, %u, %#llx",
          alive(FUNCTION, function) ? function->name : "?", gx, gy, gz, bx, by, bz, shared,
          (unsigned long long)stream);
    Launch launch = {.grid = {gx, gy, gz}, .block = {bx, by, bz}, .shared = shared};
    launch.stream = stream;
    return done(launched(function, &launch, params, extra));
}

/* Clusters as they are on a device of 9.0: eight blocks at most, or 16 where the program allows it
   for the function, of which the grid consists. */
static CUresult take_attributes(const Config *config, const Function *function, Launch *launch)
{
    for (unsigned n = 0; n < config->count; n++) {
        const Attribute *each = &config->attributes[n];
        if (each->id == 2)
            launch->cooperative = (int)each->value[0];
        else if (each->id == 4)
            memcpy(launch->cluster, each->value, sizeof launch->cluster);
        else
            return INVALID_VALUE;
    }
    unsigned *cluster = launch->cluster;
    if (!devices[current()->device].attributes[CLUSTER_LAUNCH])
        return NOT_SUPPORTED;
    if (cluster[0] * cluster[1] * cluster[2] > (function->non_portable ? 16u : 8u))
        return INVALID_CLUSTER;
    for (int n = 0; n < 3; n++)
        if (!cluster[n] || launch->grid[n] % cluster[n])
            return INVALID_CLUSTER;
    return SUCCESS;
}

CUresult cuLaunchKernelEx(const Config *config, Function *function, void **params, void **extra)
{
    BEGIN("cuLaunchKernelEx", CURRENT, "%s", alive(FUNCTION, function) ? function->name : "?");
    const unsigned *size = config->size;
    Launch launch = {.grid = {size[0], size[1], size[2]}, .block = {size[3], size[4], size[5]},
                     .shared = config->shared, .stream = config->stream};
    if (!alive(FUNCTION, function))
        return done(INVALID_HANDLE);
    CUresult code = take_attributes(config, function, &launch);
    return done(code ? code : launched(function, &launch, params, extra));
}

CUresult cuOccupancyMaxActiveClusters(int *count, Function *function, const Config *config)
{
    BEGIN("cuOccupancyMaxActiveClusters", CURRENT, "%p", (void *)function);
    const unsigned *size = config->size;
    const int *attributes = devices[current()->device].attributes;
    Launch launch = {.grid = {size[0], size[1], size[2]}};
    if (!alive(FUNCTION, function))
        return done(INVALID_HANDLE);
    CUresult code = take_attributes(config, function, &launch);
    int blocks = attributes[MULTIPROCESSORS] * (attributes[39] / (int)size[3]);
    *count = code ? 0 : blocks / (int)(launch.cluster[0] * launch.cluster[1] * launch.cluster[2]);
    return done(code);
}

CUresult cuLaunchCooperativeKernel(Function *function, unsigned gx, unsigned gy, unsigned gz,
                                   unsigned bx, unsigned by, unsigned bz, unsigned shared,
                                   uint64_t stream, void **params)
{
    BEGIN("cuLaunchCooperativeKernel", CURRENT, "%s, %ux%ux%u, %ux%ux%u, %u, %#llx",
          alive(FUNCTION, function) ? function->name : "?", gx, gy, gz, bx, by, bz, shared,
          (unsigned long long)stream);
    const int *attributes = devices[current()->device].attributes;
    Launch launch = {.grid = {gx, gy, gz}, .block = {bx, by, bz}, .shared = shared};
    launch.stream = stream;
    launch.cooperative = 1;
    if (!attributes[COOPERATIVE])
        return done(NOT_SUPPORTED);
    uint64_t threads = (uint64_t)bx * by * bz, blocks = (uint64_t)gx * gy * gz;
    if (threads && blocks > (uint64_t)attributes[MULTIPROCESSORS] * (attributes[39] / threads))
        return done(COOPERATIVE_TOO_LARGE);
    return done(launched(function, &launch, params, NULL));
}
