__device__ float scaled(float x)
{
    return 3 * x;
}
