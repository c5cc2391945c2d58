/* Open libraries with kernels one after the other, as its arguments say: "+PATH" opens and calls,
 * "=PATH" does so with RTLD_DEEPBIND, "-" closes the last. Prints what each call returns. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

int main(int count, char **words)
{
    void *opened[64];
    int depth = 0;
    for (int n = 1; n < count; n++) {
        if (*words[n] == '-') {
            dlclose(opened[--depth]);
            continue;
        }
        int deep = *words[n] == '=' ? RTLD_DEEPBIND : 0;
        opened[depth] = dlopen(words[n] + 1, RTLD_NOW | RTLD_LOCAL | deep);
        if (!opened[depth]) {
            puts(dlerror());
            return 1;
        }
        printf("%d ", ((int (*)(void))dlsym(opened[depth++], "work"))());
    }
    return 0;
}
