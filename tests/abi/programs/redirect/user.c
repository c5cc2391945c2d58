/* A program or library whose constructor registers kernels. */
void **__cudaRegisterFatBinary(void *wrapper);
int cudaGetDevice(int *device);
const char *cudaGetErrorString(int error);
int cudaOfTheProgram(int number);
int other(int number);
int snprintf(char *text, unsigned long size, const char *format, ...);

static int wrapper;
static void **registered;

__attribute__((constructor)) static void begin(void)
{
    registered = __cudaRegisterFatBinary(&wrapper);
}

const char *work(void)
{
    static char text[200];
    int (*volatile by_pointer)(int *) = cudaGetDevice;
    int device, error = by_pointer(&device);
    snprintf(text, sizeof text, "%d %d %s %d %d %d", error, device, cudaGetErrorString(4),
             cudaOfTheProgram(2), other(5), registered == (void **)&wrapper);
    return text;
}

#ifndef LIBRARY
#include <dlfcn.h>
#include <stdio.h>

int main(int count, char **words)
{
    puts(work());
    for (int n = 1; n < count; n++) {
        void *opened = dlopen(words[n], RTLD_NOW);
        puts(opened ? ((const char *(*)(void))dlsym(opened, "work"))() : dlerror());
        if (opened)
            dlclose(opened);
    }
    return 0;
}
#endif
