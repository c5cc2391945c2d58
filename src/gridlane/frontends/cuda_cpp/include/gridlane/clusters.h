// Clusters: blocks that run at once and reach each other's shared memory, from sm_90 on.
#pragma once

#define GRIDLANE_READ(name, place)                                     \
    GRIDLANE_DEVICE dim3 name()                                        \
    {                                                                  \
        dim3 read;                                                     \
        asm("mov.u32 %0, %%" place ".x;" : "=r"(read.x));              \
        asm("mov.u32 %0, %%" place ".y;" : "=r"(read.y));              \
        asm("mov.u32 %0, %%" place ".z;" : "=r"(read.z));              \
        return read;                                                   \
    }
GRIDLANE_READ(__clusterDim, "cluster_nctaid")
GRIDLANE_READ(__clusterRelativeBlockIdx, "cluster_ctaid")
GRIDLANE_READ(__clusterGridDimInClusters, "nclusterid")
GRIDLANE_READ(__clusterIdx, "clusterid")
#undef GRIDLANE_READ
GRIDLANE_DEVICE unsigned __clusterRelativeBlockRank()
{
    unsigned rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}
GRIDLANE_DEVICE unsigned __clusterSizeInBlocks()
{
    unsigned count;
    asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(count));
    return count;
}
GRIDLANE_DEVICE unsigned __clusterDimIsSpecified()
{
    unsigned holds;
    asm("{ .reg .pred p; mov.pred p, %%is_explicit_cluster; selp.u32 %0, 1, 0, p; }" : "=r"(holds));
    return holds;
}
#define GRIDLANE_MEET(name, step) \
    GRIDLANE_DEVICE void name() { asm volatile("barrier.cluster." step ";" ::: "memory"); }
GRIDLANE_MEET(__cluster_barrier_arrive, "arrive")
GRIDLANE_MEET(__cluster_barrier_arrive_relaxed, "arrive.relaxed")
GRIDLANE_MEET(__cluster_barrier_wait, "wait")
#undef GRIDLANE_MEET
GRIDLANE_DEVICE void *__cluster_map_shared_rank(const void *place, unsigned rank)
{
    unsigned long long there;
    asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"((unsigned long long)place), "r"(rank));
    return (void *)there;
}
GRIDLANE_DEVICE unsigned __cluster_query_shared_rank(const void *place)
{
    unsigned rank;
    asm("getctarank.u64 %0, %1;" : "=r"(rank) : "l"((unsigned long long)place));
    return rank;
}
GRIDLANE_DEVICE unsigned __isClusterShared(const void *place)
{
    unsigned holds;
    asm("{ .reg .pred p; isspacep.shared::cluster p, %1; selp.u32 %0, 1, 0, p; }"
        : "=r"(holds) : "l"((unsigned long long)place));
    return holds;
}
