// What the C++ library's functions of texts call by name, where they are not constants.
#pragma once

#define GRIDLANE_CALLED(name) \
    extern "C" __device__ __attribute__((used, weak, no_builtin(#name)))
GRIDLANE_CALLED(strlen) size_t strlen(const char *text)
{
    size_t n = 0;
    while (text[n])
        n++;
    return n;
}
GRIDLANE_CALLED(memcmp) int memcmp(const void *a, const void *b, size_t bytes)
{
    for (size_t n = 0; n < bytes; n++) {
        int apart = ((const unsigned char *)a)[n] - ((const unsigned char *)b)[n];
        if (apart)
            return apart;
    }
    return 0;
}
GRIDLANE_CALLED(memchr) void *memchr(const void *p, int byte, size_t bytes)
{
    for (size_t n = 0; n < bytes; n++)
        if (((const unsigned char *)p)[n] == (unsigned char)byte)
            return (unsigned char *)p + n;
    return nullptr;
}
#undef GRIDLANE_CALLED
