"""The build writes the types of modules that type checkers cannot read, and collects the files."""

import subprocess
import sys
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildWithStubs(build_py):
    """Python's files, with the stubs among them."""

    def run(self) -> None:
        """Write the stubs, and collect the files."""
        script = Path(__file__).with_name("scripts") / "stubs.py"
        subprocess.run([sys.executable, str(script)], check=True)
        super().run()


setup(cmdclass={"build_py": BuildWithStubs})
