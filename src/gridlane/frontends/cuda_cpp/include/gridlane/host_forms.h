/* What the host has beside the runtime's functions: for C and C++. */
#pragma once

static inline struct cudaExtent make_cudaExtent(size_t width, size_t height, size_t depth)
{
    struct cudaExtent v = { width, height, depth };
    return v;
}
static inline struct cudaPos make_cudaPos(size_t x, size_t y, size_t z)
{
    struct cudaPos v = { x, y, z };
    return v;
}
static inline struct cudaPitchedPtr make_cudaPitchedPtr(void *p, size_t pitch, size_t width,
                                                        size_t height)
{
    struct cudaPitchedPtr v = { p, pitch, width, height };
    return v;
}

#ifdef __cplusplus
#include "gridlane_forms.h"
#include "gridlane/old_forms.h"
#include "gridlane/templates.h"
#endif
