"""``gridlane export --web``: kernels as a page for browsers, with the runtime for them.

``page`` has the files copied to every page: a runtime in JavaScript on WebGPU, by the layouts of
``core.shader_abi`` and ``core.gpu_abi``, and a page that shows the kernels.
"""
