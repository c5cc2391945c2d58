/* The library, opened by name: in a scope of its own, and closed again. */
#include <dlfcn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
    int modes[] = { RTLD_LOCAL, RTLD_GLOBAL, RTLD_LOCAL | RTLD_DEEPBIND };
    if (!fork()) { /* a fork before the first use is no matter */
        void *found = dlopen("libcuda.so.1", RTLD_NOW);
        int (*begin)(unsigned) = (int (*)(unsigned))dlsym(found, "cuInit");
        _exit(begin(0));
    }
    int status = 1;
    wait(&status);
    if (status)
        return 1;
    for (int n = 0; n < 3; n++) {
        void *found = dlopen("libcuda.so.1", RTLD_NOW | modes[n]);
        if (!found) {
            puts(dlerror());
            return 2;
        }
        int (*begin)(unsigned) = (int (*)(unsigned))dlsym(found, "cuInit");
        int (*count)(int *) = (int (*)(int *))dlsym(found, "cuDeviceGetCount");
        int (*address)(const char *, void **, int, unsigned long, int *) =
            (int (*)(const char *, void **, int, unsigned long, int *))dlsym(
                found, "cuGetProcAddress_v2");
        int number = 0, state = 9;
        void *place = 0;
        if (begin(0) || count(&number) || !number)
            return 3;
        if (address("cuMemAlloc", &place, 13000, 0, &state) || state ||
            place != dlsym(found, "cuMemAlloc_v2"))
            return 4;
        if (address("cuMemAlloc", &place, 2000, 0, &state) || state ||
            place != dlsym(found, "cuMemAlloc"))
            return 5;
        if (address("cuMemAllocAsync", &place, 11010, 0, &state) || state != 2 || place)
            return 5;
        if (address("cuMemcpyHtoDAsync", &place, 12000, 2, &state) ||
            place != dlsym(found, "cuMemcpyHtoDAsync_v2_ptsz"))
            return 6;
        if (address("cuNoSuchThing", &place, 13000, 0, &state) || state != 1 || place)
            return 7;
        dlclose(found);
    }
    puts("well");
    return 0;
}
