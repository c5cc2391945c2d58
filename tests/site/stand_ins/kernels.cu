template <typename T>
__global__ void scale(T *x, T factor)
{
    x[threadIdx.x] *= factor;
}

template __global__ void scale<float>(float *, float);
template __global__ void scale<int>(int *, int);
