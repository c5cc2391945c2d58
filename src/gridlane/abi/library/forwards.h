/* How a function of the static runtime calls the one of its name in libcudart. */
#ifndef GRIDLANE_FORWARDS_H
#define GRIDLANE_FORWARDS_H

#include <stddef.h>
#include <stdint.h>

enum { GL_NO_DRIVER = cudaErrorInsufficientDriver }; /* CUDA's result without its library */

void *gl_forward(void **place, const char *name) __attribute__((visibility("hidden")));

#define GL_FORWARD(result, name, given, passed, without)                                  \
    result name given                                                                     \
    {                                                                                     \
        static void *place;                                                               \
        result(*call) given = (result(*) given)gl_forward(&place, #name);                 \
        return call ? call passed : without;                                              \
    }
#define GL_FORWARD_NONE(name, given, passed)                                              \
    void name given                                                                       \
    {                                                                                     \
        static void *place;                                                               \
        void(*call) given = (void(*) given)gl_forward(&place, #name);                     \
        if (call)                                                                         \
            call passed;                                                                  \
    }

#endif
