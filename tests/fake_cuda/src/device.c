/* Devices and their attributes. */

#include "fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VERSION 13000

CUresult cuInit(unsigned flags)
{
    BEGIN("cuInit", NOTHING, "%u", flags);
    set_started(1);
    return done(device_count ? SUCCESS : NO_DEVICE);
}

CUresult cuDriverGetVersion(int *version)
{
    BEGIN("cuDriverGetVersion", NOTHING, "");
    *version = VERSION;
    return done(SUCCESS);
}

CUresult cuGetErrorName(CUresult code, const char **name)
{
    BEGIN("cuGetErrorName", NOTHING, "%d", code);
    *name = code == 4711 ? "CUDA_ERROR_OF_TOMORROW" : NULL;
    return done(*name ? SUCCESS : INVALID_VALUE);
}

CUresult cuGetErrorString(CUresult code, const char **text)
{
    BEGIN("cuGetErrorString", NOTHING, "%d", code);
    *text = code == 4711 ? "a failure that is not known today" : NULL;
    return done(*text ? SUCCESS : INVALID_VALUE);
}

CUresult cuDeviceGetCount(int *count)
{
    BEGIN("cuDeviceGetCount", STARTED, "");
    *count = device_count;
    return done(SUCCESS);
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
    BEGIN("cuDeviceGet", STARTED, "%d", ordinal);
    if (ordinal < 0 || ordinal >= device_count)
        return done(INVALID_DEVICE);
    *device = ordinal;
    return done(SUCCESS);
}

CUresult cuDeviceGetName(char *name, int length, CUdevice device)
{
    BEGIN("cuDeviceGetName", STARTED, "%d", device);
    if (device < 0 || device >= device_count)
        return done(INVALID_DEVICE);
    snprintf(name, length, "Fake GPU %d", device);
    return done(SUCCESS);
}

CUresult cuDeviceGetUuid_v2(unsigned char *uuid, CUdevice device)
{
    BEGIN("cuDeviceGetUuid", STARTED, "%d", device);
    if (device < 0 || device >= device_count)
        return done(INVALID_DEVICE);
    for (int n = 0; n < 16; n++)
        uuid[n] = 16 * device + n;
    return done(SUCCESS);
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
    BEGIN("cuDeviceTotalMem", STARTED, "%d", device);
    if (device < 0 || device >= device_count)
        return done(INVALID_DEVICE);
    *bytes = devices[device].total;
    return done(SUCCESS);
}

CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice device)
{
    BEGIN("cuDeviceGetAttribute", STARTED, "%d, %d", attribute, device);
    if (device < 0 || device >= device_count)
        return done(INVALID_DEVICE);
    if (attribute <= 0 || attribute >= MOST_ATTRIBUTES)
        return done(INVALID_VALUE);
    *value = devices[device].attributes[attribute];
    return done(SUCCESS);
}

CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice other)
{
    BEGIN("cuDeviceCanAccessPeer", STARTED, "%d, %d", device, other);
    if (device < 0 || device >= device_count || other < 0 || other >= device_count)
        return done(INVALID_DEVICE);
    *can = devices[device].peer_capable[other];
    return done(SUCCESS);
}
