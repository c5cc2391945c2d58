// OpenGL's buffers and images in the runtime: declarations for the host. OpenGL's own headers are
// those of the system.
#pragma once
#define __CUDA_GL_INTEROP_H__
#if __has_include(<GL/gl.h>)
#include <GL/gl.h>
#elif !defined(GL_VERSION_1_1)
typedef unsigned GLuint, GLenum;
typedef int GLint;
#endif

enum cudaGLDeviceList {
    cudaGLDeviceListAll = 1, cudaGLDeviceListCurrentFrame, cudaGLDeviceListNextFrame,
};
extern "C" {
cudaError_t cudaGLGetDevices(unsigned *count, int *devices, unsigned room, cudaGLDeviceList list);
cudaError_t cudaGraphicsGLRegisterBuffer(cudaGraphicsResource **made, GLuint buffer, unsigned flags);
cudaError_t cudaGraphicsGLRegisterImage(cudaGraphicsResource **made, GLuint image, GLenum target,
                                        unsigned flags);
cudaError_t cudaGLSetGLDevice(int device);
cudaError_t cudaGLRegisterBufferObject(GLuint buffer);
cudaError_t cudaGLMapBufferObject(void **p, GLuint buffer);
cudaError_t cudaGLUnmapBufferObject(GLuint buffer);
cudaError_t cudaGLUnregisterBufferObject(GLuint buffer);
cudaError_t cudaGLSetBufferObjectMapFlags(GLuint buffer, unsigned flags);
}
