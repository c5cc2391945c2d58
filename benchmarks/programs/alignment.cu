// The alignment of two sequences by dynamic programming: the tiles of a diagonal at once, and in a
// tile a thread a column, each a row behind the one left of it.
#define TILE 32

extern "C" __global__ void diagonal(int *score, const int *match, int size, int penalty, int first,
                                    int number)
{
    __shared__ int border[TILE], tile[TILE][TILE + 1];
    int t = threadIdx.x, row = (first + blockIdx.x) * TILE, column = (number - first - blockIdx.x) * TILE;
    int width = size + 1;
    border[t] = score[(row + t + 1) * width + column];
    int own = score[row * width + column + t + 1], corner = score[row * width + column + t];
    for (int i = 0; i < TILE; i++)
        tile[i][t] = match[(row + i) * size + column + t];
    __syncthreads();
    for (int d = 0; d < 2 * TILE - 1; d++) {
        int i = d - t, left = __shfl_up_sync(0xffffffff, own, 1), edge = border[min(d, TILE - 1)];
        if (i >= 0 && i < TILE) {
            left = t == 0 ? edge : left;
            own = max(corner + tile[i][t], max(left, own) - penalty);
            corner = left;
            tile[i][t] = own;
        }
    }
    __syncthreads();
    for (int i = 0; i < TILE; i++)
        score[(row + i + 1) * width + column + t + 1] = tile[i][t];
}
