// Texture and surface references, which CUDA had before 12, in all their modes and bindings.
#include <cstdio>
#include <cmath>
texture<float, 1> t;
texture<int2> pairs;
texture<float, 2, cudaReadModeElementType> image(1, cudaFilterModeLinear, cudaAddressModeWrap);
texture<uchar4, cudaTextureType2D, cudaReadModeNormalizedFloat> bytes;
texture<float4, 3> volume;
static texture<unsigned short, 2> local;
surface<void, 2> out;
__managed__ int counter;
__global__ void k(float *o) {
    o[0] = tex1Dfetch(t, 3);
    int2 p = tex1Dfetch(pairs, 2); o[1] = __int_as_float(p.x) * 10 + __int_as_float(p.y);
    o[2] = tex2D(image, 0.5f / 4 + 1, 0.5f / 2);
    float4 c = tex2D(bytes, 1, 1); o[3] = c.x; o[4] = c.w;
    o[5] = tex3D(volume, 1.5f, 0.5f, 0.5f).y;
    o[6] = tex2D(local, 1.5f, 0.5f);
    unsigned v; surf2Dread(&v, out, 4, 0); surf2Dwrite(v + 1, out, 0, 0);
    o[7] = v;
    counter = 5;
}
int main() {
    float h[16], *d, *o, r[8] = {};
    for (int i = 0; i < 16; i++) h[i] = i;
    cudaMalloc(&d, 64); cudaMalloc(&o, 32);
    cudaMemcpy(d, h, 64, cudaMemcpyHostToDevice);
    size_t off = 9;
    int e = cudaBindTexture(&off, t, d);
    e |= cudaBindTexture(0, pairs, d, 64);
    cudaArray_t a; cudaChannelFormatDesc f = cudaCreateChannelDesc<float>();
    e |= cudaMallocArray(&a, &f, 4, 2);
    e |= cudaMemcpyToArray(a, 0, 0, h, 32, cudaMemcpyHostToDevice);
    e |= cudaBindTextureToArray(image, a, f);
    unsigned char b[16] = {}; b[12] = 255; b[15] = 51; void *db; cudaMalloc(&db, 512); 
    for (int row = 0; row < 2; row++) cudaMemcpy((char *)db + row * 256, b + row * 8, 8, cudaMemcpyHostToDevice);
    e |= cudaBindTexture2D(0, bytes, db, bytes.channelDesc, 2, 2, 256);
    cudaArray_t va; cudaChannelFormatDesc vf = cudaCreateChannelDesc<float4>();
    e |= cudaMalloc3DArray(&va, &vf, make_cudaExtent(2, 2, 1));
    cudaMemcpy3DParms p = {}; p.srcPtr = make_cudaPitchedPtr(h, 32, 2, 2); p.dstArray = va; p.extent = make_cudaExtent(2, 2, 1); p.kind = cudaMemcpyHostToDevice;
    e |= cudaMemcpy3D(&p);
    volume.normalized = false; volume.filterMode = cudaFilterModePoint; volume.addressMode[0] = cudaAddressModeClamp;
    const textureReference *ref; e |= cudaGetTextureReference(&ref, &volume);
    e |= cudaBindTextureToArray(ref, va, &vf);
    unsigned short us[4] = {7, 8, 9, 10}; cudaArray_t ua; cudaChannelFormatDesc uf = cudaCreateChannelDesc<unsigned short>();
    e |= cudaMallocArray(&ua, &uf, 2, 2); e |= cudaMemcpy2DToArray(ua, 0, 0, us, 4, 4, 2, cudaMemcpyHostToDevice);
    e |= cudaBindTextureToArray(local, ua);
    cudaArray_t sa; cudaChannelFormatDesc sf = cudaCreateChannelDesc<unsigned>(); unsigned sv[2] = {1, 42};
    e |= cudaMallocArray(&sa, &sf, 2, 1, cudaArraySurfaceLoadStore); e |= cudaMemcpyToArray(sa, 0, 0, sv, 8, cudaMemcpyHostToDevice);
    e |= cudaBindSurfaceToArray(out, sa);
    k<<<1, 1>>>(o);
    e |= cudaMemcpy(r, o, 32, cudaMemcpyDeviceToHost); e |= cudaMemcpyFromArray(sv, sa, 0, 0, 8, cudaMemcpyDeviceToHost);
    printf("%d %zu:", e, off);
    for (float v : r) printf(" %g", v);
    printf(" %u %d", sv[0], counter);
    e = cudaBindTexture(0, t, d + 4, 32); k<<<1, 1>>>(o); cudaMemcpy(r, o, 4, cudaMemcpyDeviceToHost);
    printf(" %d %g %d\n", e, r[0], cudaUnbindTexture(t) | cudaUnbindTexture(volume));
}
