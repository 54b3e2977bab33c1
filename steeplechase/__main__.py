"""`python -m steeplechase`: the command line."""

from steeplechase.command import main

main()
