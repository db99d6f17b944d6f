"""Run the command line with `python -m harness`, without the script that pip installs."""

from harness.cli import main

main()
