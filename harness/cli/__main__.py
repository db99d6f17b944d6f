"""Run the command line with `python -m harness.cli`, without the script that pip installs."""

from harness.cli import main

main()
