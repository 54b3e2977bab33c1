"""`python -m steeplechase`: the command line."""

from steeplechase.commands.main import main

main()
