// Barriers, clocks, and the end of a thread.
#pragma once

extern "C" {
__device__ __attribute__((convergent)) void __syncthreads();
}
GRIDLANE_DEVICE int __syncthreads_count(int predicate)
{
    int count;
    asm volatile("{\n .reg .pred p1;\n setp.ne.u32 p1, %1, 0;\n"
                 " bar.red.popc.u32 %0, 0, p1;\n}" : "=r"(count) : "r"(predicate) : "memory");
    return count;
}
#define GRIDLANE_VOTE(name, op)                                                              \
    GRIDLANE_DEVICE int name(int predicate)                                                  \
    {                                                                                        \
        int result;                                                                          \
        asm volatile("{\n .reg .pred p1, p2;\n setp.ne.u32 p1, %1, 0;\n"               \
                     " bar.red." op ".pred p2, 0, p1;\n selp.s32 %0, 1, 0, p2;\n}"     \
                     : "=r"(result) : "r"(predicate) : "memory");                            \
        return result;                                                                       \
    }
GRIDLANE_VOTE(__syncthreads_and, "and")
GRIDLANE_VOTE(__syncthreads_or, "or")
#undef GRIDLANE_VOTE

// A barrier by its number, of the block or of a number of its threads.
GRIDLANE_DEVICE void __barrier_sync(unsigned id)
{
    asm volatile("barrier.sync %0;" ::"r"(id) : "memory");
}
GRIDLANE_DEVICE void __barrier_sync_count(unsigned id, unsigned threads)
{
    asm volatile("barrier.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

GRIDLANE_DEVICE long long clock64() { return (long long)__nvvm_read_ptx_sreg_clock64(); }
GRIDLANE_DEVICE clock_t clock() { return (clock_t)__nvvm_read_ptx_sreg_clock64(); }
GRIDLANE_DEVICE void __nanosleep(unsigned ns) { asm volatile("nanosleep.u32 %0;" ::"r"(ns)); }
GRIDLANE_DEVICE void __trap() { asm volatile("trap;"); }
GRIDLANE_DEVICE void __brkpt() { asm volatile("brkpt;"); }
GRIDLANE_DEVICE void __prof_trigger(int) {}
