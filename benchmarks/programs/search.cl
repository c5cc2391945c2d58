// Breadth-first search, level by level.
kernel void expand(global const int *first, global const int *edges, global const uchar *frontier,
                   global uchar *next, global const uchar *visited, global int *cost, int n)
{
    int i = get_global_id(0);
    if (i < n && frontier[i])
        for (int e = first[i]; e < first[i + 1]; e++) {
            int other = edges[e];
            if (!visited[other]) {
                cost[other] = cost[i] + 1;
                next[other] = 1;
            }
        }
}

kernel void advance(global uchar *frontier, global uchar *next, global uchar *visited,
                    global uchar *again, int n)
{
    int i = get_global_id(0);
    if (i < n) {
        frontier[i] = 0;
        if (next[i]) {
            frontier[i] = visited[i] = 1;
            next[i] = 0;
            *again = 1;
        }
    }
}
