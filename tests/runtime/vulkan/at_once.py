"""A plugin of pytest: launches on an idle device are submitted at once, as on a GPU."""

from gridlane.runtime.drivers.vulkan.recorder import VulkanRecorder

VulkanRecorder.always_at_once = True
