"""`python -m diopigen`."""

from diopigen.cli import main

main()
