// Matrix instructions.
#include <mma.h>
using namespace nvcuda;

extern "C" __global__ void wmma_halves(const __half *a, const __half *b, float *c)
{
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> right;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 1.0f);
    wmma::load_matrix_sync(left, a, 16);
    wmma::load_matrix_sync(right, b, 16);
    wmma::mma_sync(sum, left, right, sum);
    wmma::store_matrix_sync(c, sum, 16, wmma::mem_row_major);
}

extern "C" __global__ void mma_halves(const unsigned *a, const unsigned *b, float *c)
{
    int lane = threadIdx.x, row = lane / 4, col = lane % 4;
    float d[4] = {0, 0, 0, 0};
    unsigned left[4] = {a[row * 8 + col], a[(row + 8) * 8 + col], a[row * 8 + col + 4], a[(row + 8) * 8 + col + 4]};
    unsigned right[2] = {b[row * 8 + col], b[row * 8 + col + 4]};
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right[0]), "r"(right[1]));
    c[row * 8 + col * 2] = d[0];
    c[row * 8 + col * 2 + 1] = d[1];
    c[(row + 8) * 8 + col * 2] = d[2];
    c[(row + 8) * 8 + col * 2 + 1] = d[3];
}
