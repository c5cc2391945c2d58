/* Prints the layouts of pool.h that Python and compiled kernels state too. */
#include "pool.h"

#include <stdio.h>

#define AT(name, field) printf("%s %zu\n", name, offsetof(struct gl_context, field))
#define NUMBER(name) printf(#name " %d\n", (int)(GL_##name))

int main(void)
{
    AT("GRID_X", x);
    AT("GRID_Y", y);
    AT("GRID_Z", z);
    AT("DYNAMIC_OFFSET", shared);
    AT("ERROR_OFFSET", error);
    AT("ERROR_THREAD_OFFSET", thread);
    AT("ERROR_BLOCK_OFFSET", block);
    AT("PRINT_OFFSET", print);
    AT("NUMBERS_OFFSET", numbers);
    AT("ALLOCATIONS_OFFSET", allocations);
    AT("FAIL_OFFSET", fail);
    AT("FIND_OFFSET", find);
    printf("CONTEXT_BYTES %zu\n", sizeof(struct gl_context));
    printf("PLAN_BYTES %zu\n", sizeof(struct gl_plan_of_kernel));
    printf("LAUNCH_BYTES %zu\n", sizeof(struct gl_one_launch));
    printf("PYTHON %zu\n", sizeof(struct gl_python) / sizeof(void *));
    NUMBER(ARENA_ALIGN);
    NUMBER(REPORT);
    NUMBER(NUMBERS);
    NUMBER(ASK);
    printf("STOPPED %d\nNO_MEMORY %d\nFAULTED %d\nTIMED_OUT %d\n", -GL_STOPPED, -GL_NO_MEMORY,
           -GL_FAULTED, -GL_TIMED_OUT);
    return 0;
}
