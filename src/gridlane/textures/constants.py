"""The numbers of textures' properties in CUDA's runtime API."""

cudaChannelFormatKindSigned = 0
cudaChannelFormatKindUnsigned = 1
cudaChannelFormatKindFloat = 2

cudaResourceTypeArray = 0
cudaResourceTypeMipmappedArray = 1
cudaResourceTypeLinear = 2
cudaResourceTypePitch2D = 3

cudaAddressModeWrap = 0
cudaAddressModeClamp = 1
cudaAddressModeMirror = 2
cudaAddressModeBorder = 3

cudaFilterModePoint = 0
cudaFilterModeLinear = 1

cudaReadModeElementType = 0
cudaReadModeNormalizedFloat = 1

cudaArrayDefault = 0
cudaArrayLayered = 1
cudaArraySurfaceLoadStore = 2
cudaArrayCubemap = 4
cudaArrayTextureGather = 8
