/* Load an object file, and then changed and shortened ones: each is refused or loaded, and nothing
 * beyond its bytes is read. Run under sanitizers.  ready_objects FILE SYMBOL COUNT */
#include "ready.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state = 12345;

static uint64_t random_below(uint64_t limit)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % limit;
}

static int load(const uint8_t *bytes, size_t size, const char *name)
{
    void *found;
    uint8_t *own = malloc(size ? size : 1); /* exactly as large, so that a reader beyond is seen */
    memcpy(own, bytes, size);
    int done = gl_ready_load(own, size, &name, &found, 1);
    free(own);
    return done;
}

int main(int count, char **words)
{
    static const uint64_t extremes[] = { 0, 1, 0xff, 0xffff, 0x7fffffff, 0xffffffff, UINT64_MAX };
    FILE *file = fopen(words[1], "rb");
    static uint8_t bytes[1 << 20], changed[1 << 20];
    size_t size = fread(bytes, 1, sizeof bytes, file);
    int loaded = 0, rounds = count > 3 ? atoi(words[3]) : 1000;
    fclose(file);
    if (!load(bytes, size, words[2]) || load(bytes, size, "no such symbol"))
        return 1;
    for (int n = 0; n < rounds; n++) {
        memcpy(changed, bytes, size);
        for (uint64_t m = random_below(4) + 1; m--;) {
            size_t place = random_below(8) ? random_below(size) : random_below(64);
            size_t width = (size_t)1 << random_below(4);
            if (!random_below(2) && size > 4096)
                place = size - random_below(1024) - 1; /* the table of sections */
            width = width < size - place ? width : size - place;
            uint64_t value = random_below(2) ? extremes[random_below(7)] : random_below(UINT64_MAX);
            memcpy(changed + place, &value, width);
        }
        loaded += load(changed, random_below(8) ? size : random_below(size), words[2]);
    }
    printf("%d of %d\n", loaded, rounds);
    return 0;
}
