// Images and comparisons of the CUDA samples: declarations for the host.
#pragma once
#ifdef GRIDLANE_PROGRAM
#error "this header is of the CUDA samples: name their folder, -I Common"
#endif
#include <assert.h>
#include <math.h>

#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#ifndef MIN
#define MIN(a, b) ((a < b) ? a : b)
#endif
#ifndef MAX
#define MAX(a, b) ((a > b) ? a : b)
#endif
#ifndef MIN_EPSILON_ERROR
#define MIN_EPSILON_ERROR 1e-3f
#endif

template <typename T> bool sdkLoadPGM(const char *name, T **data, unsigned *width, unsigned *height);
template <typename T> bool sdkSavePGM(const char *name, T *data, unsigned width, unsigned height);
template <typename T>
bool sdkLoadPPM4(const char *name, T **data, unsigned *width, unsigned *height);
template <typename T> bool sdkSavePPM4(const char *name, T *data, unsigned width, unsigned height);
bool sdkLoadPPM4ub(const char *name, unsigned char **data, unsigned *width, unsigned *height);
bool sdkSavePPM4ub(const char *name, unsigned char *data, unsigned width, unsigned height);
template <typename T> bool sdkReadFile(const char *name, T **data, unsigned *count, bool verbose);
template <typename T, typename E_>
bool sdkWriteFile(const char *name, const T *data, unsigned count, const E_ tolerance, bool verbose,
                  bool append = false);
template <typename T, typename E_>
bool compareData(const T *wanted, const T *found, unsigned count, E_ tolerance, float share);
template <typename T, typename E_>
bool compareDataAsFloatThreshold(const T *wanted, const T *found, unsigned count, E_ tolerance,
                                 float share);
bool sdkCompareL2fe(const float *wanted, const float *found, unsigned count, float tolerance);
bool sdkComparePPM(const char *name, const char *other, float tolerance, float share, bool verbose);
bool sdkComparePGM(const char *name, const char *other, float tolerance, float share, bool verbose);
template <typename T>
bool sdkCompareBin2BinUint(const char *name, const char *other, unsigned count, T tolerance,
                           float share, char *program);
bool sdkCompareBin2BinFloat(const char *name, const char *other, unsigned count, float tolerance,
                            float share, char *program);
void sdkDumpBin(void *data, unsigned bytes, const char *name);
