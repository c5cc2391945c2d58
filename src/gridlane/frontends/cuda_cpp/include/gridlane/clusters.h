// Clusters: blocks that run at once and reach each other's shared memory, from sm_90 on.
#pragma once

GRIDLANE_DEVICE dim3 __clusterDim()
{
    dim3 size;
    asm("mov.u32 %0, %%cluster_nctaid.x;" : "=r"(size.x));
    asm("mov.u32 %0, %%cluster_nctaid.y;" : "=r"(size.y));
    asm("mov.u32 %0, %%cluster_nctaid.z;" : "=r"(size.z));
    return size;
}
GRIDLANE_DEVICE dim3 __clusterRelativeBlockIdx()
{
    dim3 place;
    asm("mov.u32 %0, %%cluster_ctaid.x;" : "=r"(place.x));
    asm("mov.u32 %0, %%cluster_ctaid.y;" : "=r"(place.y));
    asm("mov.u32 %0, %%cluster_ctaid.z;" : "=r"(place.z));
    return place;
}
GRIDLANE_DEVICE dim3 __clusterGridDimInClusters()
{
    dim3 count;
    asm("mov.u32 %0, %%nclusterid.x;" : "=r"(count.x));
    asm("mov.u32 %0, %%nclusterid.y;" : "=r"(count.y));
    asm("mov.u32 %0, %%nclusterid.z;" : "=r"(count.z));
    return count;
}
GRIDLANE_DEVICE dim3 __clusterIdx()
{
    dim3 place;
    asm("mov.u32 %0, %%clusterid.x;" : "=r"(place.x));
    asm("mov.u32 %0, %%clusterid.y;" : "=r"(place.y));
    asm("mov.u32 %0, %%clusterid.z;" : "=r"(place.z));
    return place;
}
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
GRIDLANE_DEVICE void __cluster_barrier_arrive()
{
    asm volatile("barrier.cluster.arrive;" ::: "memory");
}
GRIDLANE_DEVICE void __cluster_barrier_arrive_relaxed()
{
    asm volatile("barrier.cluster.arrive.relaxed;" ::: "memory");
}
GRIDLANE_DEVICE void __cluster_barrier_wait()
{
    asm volatile("barrier.cluster.wait;" ::: "memory");
}
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
