// Errors and the choice of a device in the CUDA samples: declarations for the host.
#pragma once
#ifdef GRIDLANE_PROGRAM
#error "this header is of the CUDA samples: name their folder, -I Common"
#endif
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "helper_string.h"

#ifndef EXIT_WAIVED
#define EXIT_WAIVED 2
#endif
#ifndef MAX
#define MAX(a, b) (a > b ? a : b)
#endif

template <typename T> const char *_cudaGetErrorEnum(T error);
template <typename T>
void check(T result, char const *const call, const char *const file, int const line);
void __getLastCudaError(const char *message, const char *file, const int line);
void __printLastCudaError(const char *message, const char *file, const int line);
#define checkCudaErrors(call) check((call), #call, __FILE__, __LINE__)
#define getLastCudaError(message) __getLastCudaError(message, __FILE__, __LINE__)
#define printLastCudaError(message) __printLastCudaError(message, __FILE__, __LINE__)

inline int ftoi(float value) { return value >= 0 ? (int)(value + 0.5) : (int)(value - 0.5); }
int _ConvertSMVer2Cores(int major, int minor);
const char *_ConvertSMVer2ArchName(int major, int minor);
int gpuDeviceInit(int device);
int gpuGetMaxGflopsDeviceId();
int findCudaDevice(int argc, const char **argv);
int findIntegratedGPU();
bool checkCudaCapabilities(int major, int minor);
