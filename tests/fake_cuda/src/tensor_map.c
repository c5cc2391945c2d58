/* Descriptions of tensors, in the layout of gridlane's own: core/tensor_map.py. */

#include "fake.h"

#include <string.h>

CUresult cuTensorMapEncodeTiled(unsigned char *map, int element, unsigned rank, void *address,
                                const uint64_t *extents, const uint64_t *strides,
                                const unsigned *box, const unsigned *steps, int interleave,
                                int swizzle, int promotion, int fill)
{
    BEGIN("cuTensorMapEncodeTiled", NOTHING, "%d, %u, %p", element, rank, address);
    if ((uintptr_t)map % 64 || !address || (uintptr_t)address % 16 || rank < 1 || rank > 5 ||
        promotion < 0 || promotion > 3)
        return done(INVALID_VALUE);
    uint32_t words[32] = {0};
    memcpy(words, &address, sizeof address);
    words[2] = rank - 1;
    words[3] = (uint32_t)element;
    words[4] = (uint32_t)interleave;
    words[5] = (uint32_t)swizzle;
    words[6] = (uint32_t)fill;
    for (unsigned n = 0; n < rank; n++) {
        if (extents[n] < 1 || extents[n] > (uint64_t)1 << 32 || box[n] < 1 || box[n] > 256 ||
            steps[n] < 1 || steps[n] > 8)
            return done(INVALID_VALUE);
        words[8 + n] = (uint32_t)extents[n];
        words[13 + n] = box[n];
        words[18 + n] = steps[n];
        if (n + 1 == rank)
            break;
        if (strides[n] % 16 || strides[n] >= (uint64_t)1 << 40)
            return done(INVALID_VALUE);
        memcpy(words + 24 + 2 * n, strides + n, 8);
    }
    memcpy(map, words, sizeof words);
    return done(SUCCESS);
}
