// Breadth-first search, level by level.
#include <stdbool.h>

void search(const int *restrict first, const int *restrict edges, bool *restrict frontier,
            bool *restrict next, bool *restrict visited, int *restrict cost, int n)
{
    bool again = true;
    while (again) {
        again = false;
#pragma omp parallel
        {
#pragma omp for
            for (int i = 0; i < n; i++)
                if (frontier[i]) {
                    frontier[i] = false;
                    for (int e = first[i]; e < first[i + 1]; e++) {
                        int other = edges[e];
                        if (!visited[other]) {
                            cost[other] = cost[i] + 1;
                            next[other] = true;
                        }
                    }
                }
#pragma omp for
            for (int i = 0; i < n; i++)
                if (next[i]) {
                    frontier[i] = visited[i] = true;
                    next[i] = false;
                    again = true;
                }
        }
    }
}
