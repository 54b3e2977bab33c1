"""The host process of Ray: sends requests to the driver over pipes and decides nothing.

Ray runs in a separate process, so that signals, crashes of its compiled code and lost nodes do not end the driver,
and its output does not reach the terminal.
"""

import json
import sys

from runners.executors.ray_pipes import Driver, Hosting
from steeplechase.foundation.child_process import private_output
from steeplechase.foundation.errors import MachineError


def main() -> None:
    """Run the driver's trials on Ray until there are no more."""
    hosting = Hosting(**json.loads(sys.argv[1]))
    driver = Driver(private_output())
    from runners.executors.ray_trainable import connect, disconnect, run_trials

    try:
        connect(hosting)
    except MachineError as refused:
        driver.ask("refused", *refused.lines)
    driver.ask("connected")  # the answer comes with the first trial
    run_trials(driver, hosting)
    disconnect()
    driver.ask("over")


if __name__ == "__main__":
    main()
