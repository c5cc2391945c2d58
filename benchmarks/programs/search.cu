// Breadth-first search, level by level.
extern "C" __global__ void expand(const int *first, const int *edges, const bool *frontier,
                                  bool *next, const bool *visited, int *cost, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && frontier[i])
        for (int e = first[i]; e < first[i + 1]; e++) {
            int other = edges[e];
            if (!visited[other]) {
                cost[other] = cost[i] + 1;
                next[other] = true;
            }
        }
}

extern "C" __global__ void advance(bool *frontier, bool *next, bool *visited, bool *again, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        frontier[i] = false;
        if (next[i]) {
            frontier[i] = visited[i] = true;
            next[i] = false;
            *again = true;
        }
    }
}
