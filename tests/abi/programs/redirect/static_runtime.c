/* In the place of the vendor's static runtime: all of it must be replaced before it runs. */
#include <stdio.h>

#define FUNCTION __attribute__((noinline, visibility("hidden")))

int hidden_count;

FUNCTION void **__cudaRegisterFatBinary(void *wrapper)
{
    hidden_count++;
    return wrapper;
}

FUNCTION int cudaGetDevice(int *device)
{
    *device = -1;
    return 500;
}

FUNCTION const char *cudaGetErrorString(int error)
{
    return error ? "the vendor's" : "the vendor's, without an error";
}

/* A name that libcudart does not have: it stays. */
FUNCTION int cudaOfTheProgram(int number)
{
    return 3 * number + hidden_count;
}

FUNCTION int other(int number)
{
    return number + 1;
}
