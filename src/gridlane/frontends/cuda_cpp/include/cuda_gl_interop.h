// OpenGL's buffers and images in the runtime: declarations for the host. OpenGL's own headers are
// those of the system.
#pragma once
#define __CUDA_GL_INTEROP_H__
#ifndef __CUDACC__
#include "cuda_runtime.h"
#endif
#if __has_include(<GL/gl.h>)
#include <GL/gl.h>
#elif !defined(GL_VERSION_1_1)
typedef unsigned GLuint, GLenum;
typedef int GLint;
#endif

enum cudaGLDeviceList {
    cudaGLDeviceListAll = 1, cudaGLDeviceListCurrentFrame, cudaGLDeviceListNextFrame,
};
#include "gridlane/absent.h"
GRIDLANE_REFUSAL(cudaError_t, cudaErrorNotSupported)
#define GRIDLANE_GL(name) \
    template <typename... A_> cudaError_t name(const A_ &...) GRIDLANE_STATUS(cudaError_t, name)
GRIDLANE_GL(cudaGLGetDevices) GRIDLANE_GL(cudaGraphicsGLRegisterBuffer)
GRIDLANE_GL(cudaGraphicsGLRegisterImage) GRIDLANE_GL(cudaGLSetGLDevice)
GRIDLANE_GL(cudaGLRegisterBufferObject) GRIDLANE_GL(cudaGLMapBufferObject)
GRIDLANE_GL(cudaGLMapBufferObjectAsync) GRIDLANE_GL(cudaGLUnmapBufferObject)
GRIDLANE_GL(cudaGLUnmapBufferObjectAsync) GRIDLANE_GL(cudaGLUnregisterBufferObject)
GRIDLANE_GL(cudaGLSetBufferObjectMapFlags)
#undef GRIDLANE_GL
