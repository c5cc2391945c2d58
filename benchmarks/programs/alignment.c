// The alignment of two sequences by dynamic programming: tiles of a diagonal at once.
#define TILE 32

static int most(int a, int b) { return a > b ? a : b; }

void alignment(int *restrict score, const int *restrict match, int size, int penalty)
{
    int tiles = size / TILE, width = size + 1;
    for (int number = 0; number < 2 * tiles - 1; number++) {
        int first = number < tiles ? 0 : number - tiles + 1, last = number < tiles ? number : tiles - 1;
#pragma omp parallel for
        for (int tile = first; tile <= last; tile++) {
            int row = tile * TILE, column = (number - tile) * TILE;
            for (int i = row; i < row + TILE; i++)
                for (int j = column; j < column + TILE; j++) {
                    int best = score[i * width + j] + match[i * size + j];
                    best = most(best, score[(i + 1) * width + j] - penalty);
                    score[(i + 1) * width + j + 1] = most(best, score[i * width + j + 1] - penalty);
                }
        }
    }
}
