// Marks for profilers.
#pragma once
#include <stdint.h>

#define NVTX_VERSION 3
#define NVTX_EVENT_ATTRIB_STRUCT_SIZE ((uint16_t)sizeof(nvtxEventAttributes_t))
enum nvtxColorType_t { NVTX_COLOR_UNKNOWN, NVTX_COLOR_ARGB };
enum nvtxMessageType_t {
    NVTX_MESSAGE_UNKNOWN,
    NVTX_MESSAGE_TYPE_ASCII,
    NVTX_MESSAGE_TYPE_UNICODE,
    NVTX_MESSAGE_TYPE_REGISTERED,
};
enum nvtxPayloadType_t {
    NVTX_PAYLOAD_UNKNOWN,
    NVTX_PAYLOAD_TYPE_UNSIGNED_INT64,
    NVTX_PAYLOAD_TYPE_INT64,
    NVTX_PAYLOAD_TYPE_DOUBLE,
    NVTX_PAYLOAD_TYPE_UNSIGNED_INT32,
    NVTX_PAYLOAD_TYPE_INT32,
    NVTX_PAYLOAD_TYPE_FLOAT,
};
struct nvtxDomainRegistration_st;
struct nvtxStringRegistration_st;
typedef nvtxDomainRegistration_st *nvtxDomainHandle_t;
typedef nvtxStringRegistration_st *nvtxStringHandle_t;
typedef uint64_t nvtxRangeId_t;
union nvtxMessageValue_t {
    const char *ascii;
    const wchar_t *unicode;
    nvtxStringHandle_t registered;
};
struct nvtxEventAttributes_t {
    uint16_t version, size;
    uint32_t category;
    int32_t colorType;
    uint32_t color;
    int32_t payloadType, reserved0;
    union payload_t {
        uint64_t ullValue;
        int64_t llValue;
        double dValue;
        uint32_t uiValue;
        int32_t iValue;
        float fValue;
    } payload;
    int32_t messageType;
    nvtxMessageValue_t message;
};

// Without a profiler in the process a mark does nothing; a range has the depth -2, as NVTX says then.
#if defined(GRIDLANE_PROGRAM) || !defined(__CUDACC__)
#define GRIDLANE_MARK(T, name, parameters, value) inline T name parameters { return value; }
#else
#define GRIDLANE_MARK(T, name, parameters, value) T name parameters;
#endif
extern "C" {
GRIDLANE_MARK(void, nvtxInitialize, (const void *reserved), )
GRIDLANE_MARK(void, nvtxMarkA, (const char *text), )
GRIDLANE_MARK(void, nvtxMarkEx, (const nvtxEventAttributes_t *attributes), )
GRIDLANE_MARK(int, nvtxRangePushA, (const char *text), -2)
GRIDLANE_MARK(int, nvtxRangePushW, (const wchar_t *text), -2)
GRIDLANE_MARK(int, nvtxRangePushEx, (const nvtxEventAttributes_t *attributes), -2)
GRIDLANE_MARK(int, nvtxRangePop, (), -2)
GRIDLANE_MARK(nvtxRangeId_t, nvtxRangeStartA, (const char *text), 0)
GRIDLANE_MARK(nvtxRangeId_t, nvtxRangeStartEx, (const nvtxEventAttributes_t *attributes), 0)
GRIDLANE_MARK(void, nvtxRangeEnd, (nvtxRangeId_t range), )
GRIDLANE_MARK(void, nvtxNameOsThreadA, (uint32_t thread, const char *name), )
GRIDLANE_MARK(void, nvtxNameCategoryA, (uint32_t category, const char *name), )
GRIDLANE_MARK(nvtxDomainHandle_t, nvtxDomainCreateA, (const char *name), 0)
GRIDLANE_MARK(void, nvtxDomainDestroy, (nvtxDomainHandle_t domain), )
GRIDLANE_MARK(int, nvtxDomainRangePushEx, (nvtxDomainHandle_t domain, const nvtxEventAttributes_t *attributes), -2)
GRIDLANE_MARK(int, nvtxDomainRangePop, (nvtxDomainHandle_t domain), -2)
}
#undef GRIDLANE_MARK
#define nvtxMark nvtxMarkA
#define nvtxRangePush nvtxRangePushA
#define nvtxRangeStart nvtxRangeStartA
#define nvtxNameOsThread nvtxNameOsThreadA
#define nvtxDomainCreate nvtxDomainCreateA
