/* Open each library of the arguments in turn, call its "work", and close it: the next one may lie at
 * the same addresses. On stderr: whether libpython is there at the end. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int count, char **words)
{
    char line[512];
    int found = 0;
    void *kept = dlopen("libcudart.so.13", RTLD_NOW | RTLD_GLOBAL);
    for (int n = 1; n < count && kept; n++) {
        void *library = dlopen(words[n], RTLD_NOW);
        int (*work)(void) = library ? (int (*)(void))dlsym(library, "work") : 0;
        printf("%d\n", work ? work() : -1);
        if (library)
            dlclose(library);
    }
    FILE *maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, maps))
        found |= strstr(line, "libpython") != NULL;
    fprintf(stderr, "%d\n", found);
    return 0;
}
