// LU decomposition in place, without pivots, by tiles: the one on the diagonal, those right of and
// below it, and the rest.
#define TILE 32

kernel void diagonal(global float *a, int n, int k)
{
    local float own[TILE][TILE + 1];
    int t = get_local_id(0), first = k * TILE;
    for (int i = 0; i < TILE; i++)
        own[i][t] = a[(first + i) * n + first + t];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < TILE - 1; i++) {
        if (t > i)
            own[t][i] /= own[i][i];
        barrier(CLK_LOCAL_MEM_FENCE);
        if (t > i)
            for (int j = i + 1; j < TILE; j++)
                own[j][t] -= own[j][i] * own[i][t];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int i = 0; i < TILE; i++)
        a[(first + i) * n + first + t] = own[i][t];
}

// The first half of the groups are right of the diagonal, a work item a column; the others below it, a
// work item a row.
kernel void borders(global float *a, int n, int k)
{
    local float own[TILE][TILE + 1], corner[TILE][TILE + 1];
    int t = get_local_id(0), first = k * TILE, middle = get_num_groups(0) / 2;
    bool right = get_group_id(0) < middle;
    int other = (k + 1 + (right ? get_group_id(0) : get_group_id(0) - middle)) * TILE;
    for (int i = 0; i < TILE; i++) {
        corner[i][t] = a[(first + i) * n + first + t];
        if (right)
            own[i][t] = a[(first + i) * n + other + t];
        else
            own[t][i] = a[(other + i) * n + first + t];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < TILE; i++) {
        float value = own[i][t];
        for (int j = 0; j < i; j++)
            value -= (right ? corner[i][j] : corner[j][i]) * own[j][t];
        own[i][t] = right ? value : value / corner[i][i];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < TILE; i++)
        if (right)
            a[(first + i) * n + other + t] = own[i][t];
        else
            a[(other + i) * n + first + t] = own[t][i];
}

kernel void rest(global float *a, int n, int k)
{
    local float left[TILE][TILE], top[TILE][TILE];
    int t = get_local_id(0), first = k * TILE;
    int row = (k + 1 + get_group_id(1)) * TILE, column = (k + 1 + get_group_id(0)) * TILE;
    for (int i = get_local_id(1); i < TILE; i += get_local_size(1)) {
        left[i][t] = a[(row + i) * n + first + t];
        top[i][t] = a[(first + i) * n + column + t];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = get_local_id(1); i < TILE; i += get_local_size(1)) {
        float sum = 0;
        for (int j = 0; j < TILE; j++)
            sum += left[i][j] * top[j][t];
        a[(row + i) * n + column + t] -= sum;
    }
}
