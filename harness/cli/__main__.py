"""`python -m harness.cli`: the command line, without the script that pip installs."""

from harness.cli import main

main()
