// What programs name of CUDA's libraries, and no library has here. As of a source only its kernels
// are compiled, the host's functions have bodies of nothing; in a whole program a call says so.
#pragma once

#if defined(GRIDLANE_PROGRAM) || !defined(__CUDACC__)
#include <stdio.h>
#include <stdlib.h>
inline int gridlane_refused(const char *name, int status)
{
    fprintf(stderr,
            "gridlane: %s is of one of CUDA's libraries for the host, none of which is here: write a "
            "kernel, or call a library of the host\n",
            name);
    return status;
}
[[noreturn]] inline void gridlane_refuse(const char *name) { exit(gridlane_refused(name, 1)); }
#define GRIDLANE_ABSENT
#define GRIDLANE_BODY(...) { gridlane_refuse(__func__); }
#define GRIDLANE_STATUS(Status, name)                                          \
    {                                                                          \
        return (Status)gridlane_refused(#name, gridlane_status<Status>::refused); \
    }
#else
#define GRIDLANE_ABSENT
#define GRIDLANE_BODY(...) { __VA_ARGS__ }
#define GRIDLANE_STATUS(Status, name) { return (Status)0; }
#endif
// The status of a library for what it does not support.
template <typename Status> struct gridlane_status { static constexpr int refused = 1; };
#define GRIDLANE_REFUSAL(Status, value) \
    template <> struct gridlane_status<Status> { static constexpr int refused = value; };
