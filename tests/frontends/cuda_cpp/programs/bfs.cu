// Levels of a graph in rows of edges, one launch a level.
#include <fstream>
#include <iostream>
#include <vector>

struct Node {
    int first;
    int edges;
};

__global__ void step(const Node *nodes, const int *edges, bool *frontier, bool *updating,
                     bool *visited, int *cost, int n)
{
    int tid = blockIdx.x * blockDim.x + threadIdx.x;
    if (tid < n && frontier[tid]) {
        frontier[tid] = false;
        for (int i = nodes[tid].first; i < nodes[tid].first + nodes[tid].edges; i++) {
            int id = edges[i];
            if (!visited[id]) {
                cost[id] = cost[tid] + 1;
                updating[id] = true;
            }
        }
    }
}

__global__ void update(bool *frontier, bool *updating, bool *visited, bool *again, int n)
{
    int tid = blockIdx.x * blockDim.x + threadIdx.x;
    if (tid < n && updating[tid]) {
        frontier[tid] = true;
        visited[tid] = true;
        *again = true;
        updating[tid] = false;
    }
}

__device__ int waiting = 0;

// The same with a queue, by one block.
__global__ void by_queue(const Node *nodes, const int *edges, int *cost, int *queue, int n)
{
    __shared__ int head, tail;
    if (threadIdx.x == 0) {
        head = 0;
        tail = 1;
        queue[0] = 0;
        cost[0] = 0;
    }
    __syncthreads();
    while (head < tail) {
        int end = tail;
        __syncthreads();
        for (int at = head + threadIdx.x; at < end; at += blockDim.x) {
            Node node = nodes[queue[at]];
            for (int i = 0; i < node.edges; i++) {
                int id = edges[node.first + i];
                if (atomicCAS(&cost[id], -1, cost[queue[at]] + 1) == -1)
                    queue[atomicAdd(&tail, 1)] = id;
            }
        }
        __syncthreads();
        if (threadIdx.x == 0)
            head = end;
        __syncthreads();
    }
    if (threadIdx.x == 0)
        waiting = tail;
}

int main(int argc, char **argv)
{
    std::ifstream file(argc > 1 ? argv[1] : "graph.txt");
    int n = 0;
    if (!(file >> n)) {
        std::cerr << "no graph" << std::endl;
        return 1;
    }
    std::vector<Node> nodes(n);
    for (auto &node : nodes)
        file >> node.first >> node.edges;
    bool *frontier;
    cudaMalloc((void **)&frontier, sizeof(bool) * n);
    cudaMemset(frontier, 0, sizeof(bool) * n);
    int blocks;
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, update, 256, 0);
    update<<<(n + 255) / 256, 256>>>(frontier, frontier, frontier, frontier, n);
    cudaDeviceReset();
    std::cout << "done\n";
}
