/* Print calls that C answers alone if GRIDLANE_TRACE is set; Python prints all others. */
#ifndef GRIDLANE_TRACED_H
#define GRIDLANE_TRACED_H

#include "bridge.h"
#include "threads.h"

#include <stdlib.h>
#include <string.h>

enum { GL_MOST_WORDS = 16 };

/* The begin of a call, in nanoseconds; 0 if calls are not printed. */
static inline uint64_t gl_began(void)
{
    const char *asked = getenv("GRIDLANE_TRACE");
    if (!asked || !*asked || !strcmp(asked, "0"))
        return 0;
    return gl_elapsed();
}

/* Print a call that has ended. The name of its slot is the function's behind "__traced_". */
static inline void gl_ended(uint64_t began, struct gl_slot *slot, const uint64_t *arguments,
                            int count, uint64_t code)
{
    uint64_t words[GL_MOST_WORDS + 2];
    if (!began || count > GL_MOST_WORDS)
        return;
    memcpy(words, arguments, (size_t)count * sizeof *words);
    words[count] = code;
    words[count + 1] = gl_began() - began;
    gl_enter(slot, words, count + 2);
}

#endif
