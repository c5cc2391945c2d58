// Where a word stands in a text: by comparing, and by a table of steps.
#include <string.h>
#include <algorithm>
#include <string>

__constant__ char word[32];

__device__ bool same(const char *text, const char *pattern, int length)
{
    while (length-- > 0)
        if (*text++ != *pattern++)
            return false;
    return true;
}

__global__ void find_all(const char *text, int size, const char *pattern, int length, int *found,
                         int *count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= size - length && same(text + i, pattern, length))
        found[atomicAdd(count, 1)] = i;
}

// An automaton: one row of the table for each state.
struct Automaton {
    short next[8][26];
    int states;
};

__global__ void count_by_automaton(const char *text, int size, Automaton machine, int *counts)
{
    int part = (size + blockDim.x * gridDim.x - 1) / (blockDim.x * gridDim.x);
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int from = i * part, to = min(size, from + part), state = 0, count = 0;
    for (int at = max(0, from - (machine.states - 2)); at < to; at++) {
        switch (text[at]) {
        case ' ':
        case '\n': state = 0; continue;
        default: state = machine.next[state][(text[at] - 'a') & 31];
        }
        if (state == machine.states - 1) {
            if (at >= from)
                count++;
            state = 0;
        }
    }
    counts[i] = count;
}

int main(int argc, char *argv[])
{
    std::string text = "abracadabra", pattern = "abra";
    char *t, *p;
    int *found, *count;
    cudaMalloc(&t, text.size());
    cudaMalloc(&p, pattern.size());
    cudaMalloc(&found, 100);
    cudaMalloc(&count, sizeof(int));
    cudaMemcpyToSymbol(word, pattern.c_str(), pattern.size());
    find_all<<<1, 32>>>(t, text.size(), p, strlen(pattern.c_str()), found, count);
    return std::max(0, 0);
}
