// Breadth-first search on a graph in rows, level by level, as in benchmark suites.
#include <algorithm>
#include <climits>
#include <iostream>
#include <queue>
#include <random>
#include <vector>
struct Graph { int num_vertices; std::vector<int> row_offsets, column_indices; };
struct csr_view { const int *row_offsets, *column_indices; int num_vertices; };
__global__ void bfs_level(csr_view g, int *distance, int level, bool *changed)
{
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= g.num_vertices || distance[v] != level) return;
    for (int e = g.row_offsets[v]; e < g.row_offsets[v + 1]; e++) {
        int to = g.column_indices[e];
        if (atomicCAS(&distance[to], INT_MAX, level + 1) == INT_MAX) *changed = true;
    }
}
template <typename T> class device_vector {
public:
    explicit device_vector(const std::vector<T> &h) : n(h.size())
    {
        cudaMalloc(&p, n * sizeof(T));
        cudaMemcpy(p, h.data(), n * sizeof(T), cudaMemcpyHostToDevice);
    }
    device_vector(const device_vector &) = delete;
    ~device_vector() { cudaFree(p); }
    operator T *() const { return p; }
private:
    T *p = nullptr;
    size_t n;
};
int main()
{
    std::mt19937 rng(42);
    Graph g{2000, {0}, {}};
    for (int v = 0; v < g.num_vertices; v++) {
        for (unsigned k = rng() % 4; k > 0; k--) g.column_indices.push_back(rng() % g.num_vertices);
        g.row_offsets.push_back(g.column_indices.size());
    }
    std::vector<int> expected(g.num_vertices, INT_MAX), distance(g.num_vertices, INT_MAX);
    std::queue<int> q;
    expected[0] = 0;
    for (q.push(0); !q.empty(); q.pop())
        for (int e = g.row_offsets[q.front()]; e < g.row_offsets[q.front() + 1]; e++)
            if (expected[g.column_indices[e]] == INT_MAX) {
                expected[g.column_indices[e]] = expected[q.front()] + 1;
                q.push(g.column_indices[e]);
            }
    distance[0] = 0;
    {
        device_vector<int> rows(g.row_offsets), columns(g.column_indices), d(distance);
        bool *changed;
        cudaMallocManaged(&changed, 1);
        int level = 0;
        do {
            *changed = false;
            bfs_level<<<(g.num_vertices + 127) / 128, 128>>>({rows, columns, g.num_vertices}, d, level++, changed);
            cudaDeviceSynchronize();
        } while (*changed);
        cudaMemcpy(distance.data(), d, distance.size() * sizeof(int), cudaMemcpyDeviceToHost);
        cudaFree(changed);
    }
    std::cout << (distance == expected ? "PASS" : "FAIL") << "\n";
    return distance != expected;
}
