/* Print the key of a process. */
#include "ready.h"

#include <stdio.h>

struct gl_process gl_process;

int gl_registered(uint64_t host, struct gl_kernel *made)
{
    (void)host, (void)made;
    return 0;
}

int main(void)
{
    const struct gl_ready_key *key = gl_ready_key();
    for (int n = 0; key && n < GL_DIGEST; n++)
        printf("%02x", key->of_device[n]);
    puts(key ? "" : "none");
    return 0;
}
