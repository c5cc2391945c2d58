// PTX inside of C++.
extern "C" __global__ void carried(const unsigned *x, unsigned *y)
{
    unsigned a0 = x[0], a1 = x[1], a2 = x[2], b0 = x[3], b1 = x[4], b2 = x[5], r0, r1, r2;
    asm("add.cc.u32 %0, %3, %6;\n\taddc.cc.u32 %1, %4, %7;\n\taddc.u32 %2, %5, %8;"
        : "=r"(r0), "=r"(r1), "=r"(r2) : "r"(a0), "r"(a1), "r"(a2), "r"(b0), "r"(b1), "r"(b2));
    y[0] = r0, y[1] = r1, y[2] = r2;
    asm("sub.cc.u32 %0, %2, %4; subc.u32 %1, %3, %5;" : "=r"(r0), "=r"(r1) : "r"(a0), "r"(a1), "r"(b0), "r"(b1));
    y[3] = r0, y[4] = r1;
    asm("mad.lo.cc.u32 %0, %2, %3, %4; madc.hi.u32 %1, %2, %3, %5;"
        : "=r"(r0), "=r"(r1) : "r"(a0), "r"(b0), "r"(a1), "r"(b1));
    y[5] = r0, y[6] = r1;
}

extern "C" __global__ void fields(const unsigned *x, unsigned *y)
{
    unsigned v = x[threadIdx.x], a, b, c, d, e, f, g;
    asm("bfe.u32 %0, %1, 5, 9;" : "=r"(a) : "r"(v));
    asm("bfe.s32 %0, %1, 3, 6;" : "=r"(b) : "r"(v));
    asm("bfi.b32 %0, %1, %2, 7, 12;" : "=r"(c) : "r"(v), "r"(v >> 3));
    asm("prmt.b32 %0, %1, %2, 0x9341;" : "=r"(d) : "r"(v), "r"(~v));
    asm("lop3.b32 %0, %1, %2, %3, 0xB8;" : "=r"(e) : "r"(v), "r"(v * 7), "r"(v >> 9));
    asm("bmsk.clamp.b32 %0, %1, %2;" : "=r"(f) : "r"(v & 31), "r"(v >> 27));
    asm("szext.wrap.s32 %0, %1, %2;" : "=r"(g) : "r"(v), "r"(v & 15));
    y[threadIdx.x] = a + 3 * b + 5 * c + 7 * d + 11 * e + 13 * f + 17 * g;
}

extern "C" __global__ void guarded(const int *x, int *y)
{
    int v = x[threadIdx.x], made;
    asm("{\n\t.reg .pred p, q;\n\tsetp.gt.s32 p|q, %1, 50;\n\tmov.s32 %0, -1;\n\t@p add.s32 %0, %1, 1000;\n\t"
        "@q bra.uni L%=;\n\tshl.b32 %0, %0, 1;\n\tL%=:\n\t}" : "=&r"(made) : "r"(v));
    y[threadIdx.x] = made;
}

extern "C" __global__ void loads(const float4 *x, float4 *y)
{
    float a, b, c, d;
    asm volatile("ld.global.nc.L1::no_allocate.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(a), "=f"(b), "=f"(c), "=f"(d) : "l"(x + threadIdx.x));
    asm volatile("st.global.cs.v4.f32 [%0], {%1, %2, %3, %4};"
                 :: "l"(y + threadIdx.x), "f"(d), "f"(c), "f"(b), "f"(a) : "memory");
}

extern "C" __global__ void registers(unsigned *y)
{
    unsigned lane, below, warp, size;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(below));
    asm volatile("mov.u32 %0, %%warpid;" : "=r"(warp));
    asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(size));
    y[threadIdx.x] = lane + below * 3 + warp * 1000 + size * 7;
}

extern "C" __global__ void shared_address(const int *x, int *y)
{
    __shared__ int s[32];
    unsigned at = (unsigned)__cvta_generic_to_shared(&s[threadIdx.x]);
    asm volatile("st.shared.s32 [%0], %1;" :: "r"(at), "r"(x[threadIdx.x]) : "memory");
    __syncthreads();
    int made;
    asm volatile("ld.shared.s32 %0, [%1];" : "=r"(made) : "r"(at ^ 4u) : "memory");
    y[threadIdx.x] = made;
}

extern "C" __global__ void wide_products(const unsigned long long *x, unsigned long long *y)
{
    unsigned long long v = x[threadIdx.x], high, low;
    asm("mul.hi.u64 %0, %1, %2;" : "=l"(high) : "l"(v), "l"(~v));
    asm("mad.lo.u64 %0, %1, %1, %2;" : "=l"(low) : "l"(v), "l"(high));
    y[threadIdx.x] = high ^ low;
}

extern "C" __global__ void ordered(int *x, int *y)
{
    int made;
    asm volatile("red.release.gpu.global.add.s32 [%0], %1;" :: "l"(x), "r"(threadIdx.x) : "memory");
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
    asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(made) : "l"(x) : "memory");
    y[threadIdx.x] = made > 0;
}

extern "C" __global__ void named_barriers(const int *x, int *y)
{
    __shared__ int s[64];
    s[threadIdx.x] = x[threadIdx.x];
    if (threadIdx.x < 32) {
        asm volatile("bar.sync 1, 32;" ::: "memory");
        y[threadIdx.x] = s[31 - threadIdx.x];
    } else {
        asm volatile("bar.sync 2, 32;" ::: "memory");
        y[threadIdx.x] = s[32 + (threadIdx.x ^ 1) % 32];
    }
}

extern "C" __global__ void packed(const float *x, unsigned *y)
{
    unsigned a, b;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(a) : "f"(x[threadIdx.x]), "f"(x[31 - threadIdx.x]));
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(b) : "f"(x[threadIdx.x]), "f"(x[31 - threadIdx.x]));
    y[threadIdx.x] = a ^ b;
}

extern "C" __global__ void copied(const int4 *x, int4 *y)
{
    __shared__ int4 s[32];
    unsigned at = (unsigned)__cvta_generic_to_shared(&s[threadIdx.x]);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n\tcp.async.commit_group;\n\tcp.async.wait_group 0;"
                 :: "r"(at), "l"(x + threadIdx.x) : "memory");
    __syncthreads();
    y[threadIdx.x] = s[31 - threadIdx.x];
}

extern "C" __global__ void constant_terms(int *y)
{
    int a;
    asm("mov.s32 %0, (3 + 4 * 5) << 2;" : "=r"(a));
    y[threadIdx.x] = a;
}
