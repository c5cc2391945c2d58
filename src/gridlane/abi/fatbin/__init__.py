"""Fatbins: containers of one program's code for several GPUs; see README.md."""

from gridlane.abi.fatbin.choice import best
from gridlane.abi.fatbin.container import HEAD, LINK, MACHINE, PTX, Image, images, region_size
from gridlane.abi.fatbin.contents import ptx

__all__ = ["HEAD", "LINK", "MACHINE", "PTX", "Image", "best", "images", "ptx", "region_size"]
