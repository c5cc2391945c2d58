// A whole program.
__global__ void fill(int *numbers)
{
    numbers[threadIdx.x] = threadIdx.x;
}

int main()
{
    int *numbers, last[4];
    cudaMalloc(&numbers, sizeof last);
    fill<<<1, 4>>>(numbers);
    cudaMemcpy(last, numbers, sizeof last, cudaMemcpyDeviceToHost);
    cudaFree(numbers);
    return last[3] != 3;
}
