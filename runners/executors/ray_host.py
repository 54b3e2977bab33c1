"""The process that holds Ray for a run: it asks the driver what to do over its pipes and decides nothing.

Ray lives in a process of its own so that its end is not the driver's: its compiled code can neither turn a signal
into an error nor take the driver down with a node, and what it prints stays out of the terminal.
"""

import json
import sys

from foundation.errors import MachineError
from runners.executors.ray_pipes import Driver, Hosting
from runners.executors.worker import private_output


def main() -> None:
    """Run the driver's trials on Ray until there are no more."""
    hosting = Hosting(**json.loads(sys.argv[1]))
    driver = Driver(private_output())
    from runners.executors.ray_trainable import connect, disconnect, run_trials

    try:
        connect(hosting)
    except MachineError as refused:
        driver.ask("refused", *refused.lines)
    run_trials(driver, hosting)
    disconnect()
    driver.ask("over")


if __name__ == "__main__":
    main()
