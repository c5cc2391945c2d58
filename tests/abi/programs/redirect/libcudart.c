/* In the place of gridlane's libcudart; it needs the C library, as that does. */
char *getenv(const char *);

static int count;

void **__cudaRegisterFatBinary(void *wrapper)
{
    count++;
    return wrapper;
}

int cudaGetDevice(int *device)
{
    *device = 10 * count + 7;
    return !getenv("LD_LIBRARY_PATH");
}

const char *cudaGetErrorString(int error)
{
    return error == 4 ? "gridlane's" : "another error";
}

int other(int number)
{
    return -number;
}
