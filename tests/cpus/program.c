/* Runs kernels that are linked in, as the CPU device does: by the thread pool, which is linked in as
 * well. Reads launches from one file and writes what they leave in the arrays to another; the
 * layout of both is in aarch64_machine.py, which defines WORKERS. */
#include "pool.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    int64_t entry, grid[3], shared, fixed, work, cluster, param_bytes, pointers;
} Launch;

extern void *entries[];
static FILE *input, *output;

static void take(void *to, size_t size) {
    if (size && fread(to, size, 1, input) != 1) {
        fprintf(stderr, "the file of launches is too short\n");
        exit(2);
    }
}

static void *room(size_t size) {
    void *made = aligned_alloc(256, (size + 511) / 256 * 256);
    if (!made) {
        fprintf(stderr, "no memory for %zu bytes\n", size);
        exit(2);
    }
    return made;
}

/* Python, as far as the pool calls it: there are no signals, and what is printed is dropped. */
static int ensure(void) { return 0; }
static void release(int state) { (void)state; }
static int check_signals(void) { return 0; }
static void fetch(void **type, void **value, void **traceback) { *type = *value = *traceback = 0; }
static void *number(long long value) { (void)value; return entries; }
static void *call(void *function, ...) { return function; }
static void drop(void *object) { (void)object; }

static void provide_python(void) {
    gridlane_python =
        (struct gl_python){ensure, release, check_signals, fetch, number, call, drop};
}

static void run(const Launch *launch, struct gl_pool *pool) {
    char *params = room(launch->param_bytes);
    take(params, launch->param_bytes);
    int64_t *sizes = room(launch->pointers * sizeof *sizes);
    void **arrays = room(launch->pointers * sizeof *arrays);
    for (int64_t n = 0; n < launch->pointers; n++) {
        int64_t offset;
        take(&offset, 8);
        take(&sizes[n], 8);
        arrays[n] = room(sizes[n]);
        take(arrays[n], sizes[n]);
        memcpy(params + offset, &arrays[n], 8);
    }
    struct gl_plan_of_kernel plan = {(gl_entry *)entries[launch->entry], pool, launch->fixed,
                                     launch->work, entries, 0, 0, launch->cluster};
    int64_t report[GL_REPORT] = {0};
    int64_t code = gridlane_launch(&plan, params, launch->grid[0], launch->grid[1],
                                   launch->grid[2], launch->shared, report);
    fwrite(&code, 8, 1, output);
    for (int64_t n = 0; n < launch->pointers; n++) {
        fwrite(arrays[n], sizes[n], 1, output);
        free(arrays[n]);
    }
    free(arrays);
    free(sizes);
    free(params);
}

int main(int count, char **words) {
    provide_python();
    struct gl_pool *pool = room(gridlane_bytes(WORKERS + 1));
    if (count != 3 || !(input = fopen(words[1], "rb")) || !(output = fopen(words[2], "wb"))) {
        fprintf(stderr, "usage: program LAUNCHES RESULTS\n");
        return 2;
    }
    gridlane_start(pool, WORKERS, 0, 0);
    Launch launch;
    while (fread(&launch, sizeof launch, 1, input) == 1) {
        run(&launch, pool);
        fflush(output); /* so that a crash shows whose it is */
    }
    fclose(output);
    return 0;
}
