// What programs name of CUDA's libraries, and no library has here. As of a source only its kernels
// are compiled, the host's functions have bodies of nothing; in a whole program a call is an error.
#pragma once

#ifdef GRIDLANE_PROGRAM
#define GRIDLANE_ABSENT                                                                          \
    __attribute__((error("gridlane has no such library for the host: write a kernel, or call a " \
                         "library of the host, or build with nvcc and run by gridlane exec")))
#define GRIDLANE_BODY(...) ;
#else
#define GRIDLANE_ABSENT
#define GRIDLANE_BODY(...) { __VA_ARGS__ }
#endif
