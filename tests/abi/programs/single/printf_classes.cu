// Classes on both sides, virtual functions on the device, new and delete in kernels, printf.
#include <cstdio>
#include <new>
class Shape {
public:
    __device__ virtual float area() const = 0;
    __device__ virtual ~Shape() {}
};
class Square : public Shape {
    float a;
public:
    __device__ explicit Square(float a) : a(a) {}
    __device__ float area() const override { return a * a; }
};
class Circle : public Shape {
    float r;
public:
    __device__ explicit Circle(float r) : r(r) {}
    __device__ float area() const override { return 3.0f * r * r; }
};
class Vec {
    float v[3];
public:
    __host__ __device__ Vec(float x, float y, float z) : v{x, y, z} {}
    __host__ __device__ float dot(const Vec &o) const { float s = 0; for (int i = 0; i < 3; i++) s += v[i] * o.v[i]; return s; }
};
enum class Kind : int { square, circle };
__device__ int recursion(int n) { return n <= 1 ? 1 : n * recursion(n - 1); }
__global__ void shapes(float *out, Vec v, Kind kind)
{
    Shape *s = kind == Kind::square ? static_cast<Shape *>(new Square(3)) : new Circle(2);
    out[(int)kind] = s->area() + v.dot(Vec(1, 2, 3));
    delete s;
    if (threadIdx.x == 0) printf("kernel %d: %5.2f %s %c %llu\n", (int)kind, out[(int)kind], "text", 'x', 1ull << 40);
    out[2] = recursion(5);
}
int main()
{
    float *d, h[3];
    cudaMalloc(&d, sizeof h);
    Vec v(1, 1, 1);
    shapes<<<1, 1>>>(d, v, Kind::square);
    shapes<<<1, 1>>>(d, v, Kind::circle);
    cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
    cudaDeviceReset();
    bool ok = h[0] == 15 && h[1] == 18 && h[2] == 120 && v.dot(v) == 3;
    printf("%s\n", ok ? "PASS" : "FAIL");
    return !ok;
}
