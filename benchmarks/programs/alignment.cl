// The alignment of two sequences by dynamic programming: the tiles of a diagonal at once, and in a
// tile a work item a column, each a row behind the one left of it.
#define TILE 32

kernel void diagonal(global int *score, global const int *match, int size, int penalty, int first,
                     int number)
{
    local int border[TILE], tile[TILE][TILE + 1], passed[2][TILE];
    int t = get_local_id(0), group = get_group_id(0);
    int row = (first + group) * TILE, column = (number - first - group) * TILE;
    int width = size + 1;
    border[t] = score[(row + t + 1) * width + column];
    int own = score[row * width + column + t + 1], corner = score[row * width + column + t];
    for (int i = 0; i < TILE; i++)
        tile[i][t] = match[(row + i) * size + column + t];
    passed[1][t] = own;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int d = 0; d < 2 * TILE - 1; d++) {
        int i = d - t;
        if (i >= 0 && i < TILE) {
            int left = t == 0 ? border[min(d, TILE - 1)] : passed[(d + 1) % 2][max(t - 1, 0)];
            own = max(corner + tile[i][t], max(left, own) - penalty);
            corner = left;
            tile[i][t] = own;
        }
        passed[d % 2][t] = own;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int i = 0; i < TILE; i++)
        score[(row + i + 1) * width + column + t + 1] = tile[i][t];
}
