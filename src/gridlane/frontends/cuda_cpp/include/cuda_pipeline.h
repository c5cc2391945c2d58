// Copies from global to shared memory behind the thread's back.
#pragma once
#define _CUDA_PIPELINE_H_

// Of 4, 8 or 16 bytes, of which the last `zeros` are 0.
GRIDLANE_DEVICE void __pipeline_memcpy_async(void *to, const void *from, size_t bytes,
                                             size_t zeros = 0)
{
    unsigned shared = (unsigned)__cvta_generic_to_shared(to), read = (unsigned)(bytes - zeros);
    size_t global = __cvta_generic_to_global(from);
#define GRIDLANE_COPY(n, how)                                                  \
    asm volatile("cp.async." how ".shared.global [%0], [%1], " #n ", %2;"      \
                 ::"r"(shared), "l"(global), "r"(read) : "memory")
    if (bytes == 4)
        GRIDLANE_COPY(4, "ca");
    else if (bytes == 8)
        GRIDLANE_COPY(8, "ca");
    else if (bytes == 16)
        GRIDLANE_COPY(16, "cg");
    else
        __trap();
#undef GRIDLANE_COPY
}
GRIDLANE_DEVICE void __pipeline_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Waits for all groups but the last ones.
GRIDLANE_DEVICE void __pipeline_wait_prior(size_t last)
{
#define GRIDLANE_WAIT(n) \
    case n: asm volatile("cp.async.wait_group " #n ";" ::: "memory"); break;
    switch (last) {
    GRIDLANE_WAIT(1) GRIDLANE_WAIT(2) GRIDLANE_WAIT(3) GRIDLANE_WAIT(4) GRIDLANE_WAIT(5)
    GRIDLANE_WAIT(6) GRIDLANE_WAIT(7)
    default: asm volatile("cp.async.wait_group 0;" ::: "memory");
    }
#undef GRIDLANE_WAIT
}
