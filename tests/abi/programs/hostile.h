/* What programs share that try what ought not to break anything: kernels, and calls with results. */
#pragma once
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define EXPECT(call, wanted)                                                                 \
    do {                                                                                     \
        const int found = (int)(call);                                                       \
        if (found != (int)(wanted)) {                                                        \
            printf("line %d: %s: %d\n", __LINE__, #call, found);                             \
            fflush(stdout);                                                                  \
            _exit(1);                                                                        \
        }                                                                                    \
    } while (0)
#define CHECK(call) EXPECT(call, 0)
#define FAILS(call) EXPECT(call, CUDA_ERROR_LAUNCH_FAILED)

/* "stop" fails, "add" adds 1 to a number, "wait" ends when a number is not 0. */
static const char text[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry stop() { trap; ret; }\n"
    ".visible .entry add(.param .u64 to) { .reg .u64 a; .reg .u32 b; ld.param.u64 a, [to];\n"
    "  atom.global.add.u32 b, [a], 1; ret; }\n"
    ".visible .entry wait(.param .u64 for) { .reg .u64 a; .reg .u32 b; .reg .pred p;\n"
    "  ld.param.u64 a, [for];\n"
    "L: ld.volatile.global.u32 b, [a]; setp.eq.u32 p, b, 0; @p bra L; ret; }\n";
