// The management library for the host, as declarations of what benchmarks measure with it.
#pragma once
#define __nvml_nvml_h__
#include "gridlane/libraries.h"

enum nvmlReturn_t {
    NVML_SUCCESS, NVML_ERROR_UNINITIALIZED, NVML_ERROR_INVALID_ARGUMENT, NVML_ERROR_NOT_SUPPORTED,
    NVML_ERROR_NO_PERMISSION, NVML_ERROR_ALREADY_INITIALIZED, NVML_ERROR_NOT_FOUND,
    NVML_ERROR_INSUFFICIENT_SIZE, NVML_ERROR_UNKNOWN = 999,
};
GRIDLANE_REFUSAL(nvmlReturn_t, NVML_ERROR_NOT_SUPPORTED)
enum nvmlClockType_t {
    NVML_CLOCK_GRAPHICS, NVML_CLOCK_SM, NVML_CLOCK_MEM, NVML_CLOCK_VIDEO, NVML_CLOCK_COUNT,
};
enum nvmlTemperatureSensors_t { NVML_TEMPERATURE_GPU, NVML_TEMPERATURE_COUNT };
enum nvmlEnableState_t { NVML_FEATURE_DISABLED, NVML_FEATURE_ENABLED };
struct nvmlDevice_st;
typedef nvmlDevice_st *nvmlDevice_t;
struct nvmlUtilization_t { unsigned gpu, memory; };
struct nvmlMemory_t { unsigned long long total, free, used; };
struct nvmlPciInfo_t {
    char busIdLegacy[16];
    unsigned domain, bus, device, pciDeviceId, pciSubSystemId;
    char busId[32];
};
#define NVML_DEVICE_NAME_BUFFER_SIZE 64
#define NVML_DEVICE_UUID_BUFFER_SIZE 80
#define NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE 80
inline const char *nvmlErrorString(nvmlReturn_t)
{
    return "gridlane has no management library";
}
#define GRIDLANE_MANAGEMENT(name) GRIDLANE_ANY(nvmlReturn_t, nvml##name)
#define GRIDLANE_NAMES(F) \
    F(Init) F(Init_v2) F(Shutdown) F(SystemGetDriverVersion) F(SystemGetCudaDriverVersion) \
    F(DeviceGetCount) F(DeviceGetCount_v2) F(DeviceGetHandleByIndex) F(DeviceGetHandleByIndex_v2) \
    F(DeviceGetHandleByPciBusId) F(DeviceGetHandleByUUID) F(DeviceGetName) F(DeviceGetUUID) \
    F(DeviceGetPciInfo) F(DeviceGetIndex) F(DeviceGetPowerUsage) \
    F(DeviceGetTotalEnergyConsumption) F(DeviceGetPowerManagementMode) \
    F(DeviceGetEnforcedPowerLimit) F(DeviceGetPowerManagementLimit) F(DeviceSetPersistenceMode) \
    F(DeviceGetTemperature) F(DeviceGetFanSpeed) F(DeviceGetUtilizationRates) \
    F(DeviceGetMemoryInfo) F(DeviceGetClockInfo) F(DeviceGetMaxClockInfo) \
    F(DeviceGetApplicationsClock) F(DeviceSetApplicationsClocks) F(DeviceResetApplicationsClocks) \
    F(DeviceGetSupportedMemoryClocks) F(DeviceGetSupportedGraphicsClocks) \
    F(DeviceGetMemoryBusWidth)
GRIDLANE_NAMES(GRIDLANE_MANAGEMENT)
#undef GRIDLANE_NAMES
#undef GRIDLANE_MANAGEMENT
