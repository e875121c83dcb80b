"""Writes the folder .dist-info into another one, for `cmake --install`.

Usage, in bindings/python: python -m beeline_backend FOLDER"""

import pathlib
import sys

from beeline_backend import project

_folder = pathlib.Path(sys.argv[1], project.dist_info())
project.write_dist_info(_folder)
# Debian's tools install this package, so pip leaves it alone.
(_folder / "INSTALLER").write_text("cmake\n", encoding="utf-8")
