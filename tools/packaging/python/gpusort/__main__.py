"""Runs the program gpusort: python3 -m gpusort --help."""
import os
import sys

from gpusort import program

os.execv(program(), ["gpusort", *sys.argv[1:]])
