/* In the place of gridlane's libcudart. */
static int count;

void **__cudaRegisterFatBinary(void *wrapper)
{
    count++;
    return wrapper;
}

int cudaGetDevice(int *device)
{
    *device = 10 * count + 7;
    return 0;
}

const char *cudaGetErrorString(int error)
{
    return error == 4 ? "gridlane's" : "another error";
}

int other(int number)
{
    return -number;
}
