"""``gridlane export --web``: kernels as a page for browsers, with what runs them there.

``page`` is what is copied to every page: a runtime in JavaScript on WebGPU, by the layouts of
``core.shader_abi`` and ``core.gpu_abi``, and a page that shows the kernels.
"""
