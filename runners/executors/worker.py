"""A warm worker process: takes jobs as lines of JSON on its input, computes them, answers with lines of JSON.

It imports torch once and nothing heavy beside it, runs one thread, and ends at once when its driver is gone.
"""

import json
import os
import queue
import sys
import threading
import traceback
from dataclasses import asdict
from typing import TextIO

from runners.stages.stage import Job


def main() -> None:
    """Serve jobs until the input ends."""
    answers = private_output()
    jobs: queue.Queue[str] = queue.Queue()
    threading.Thread(target=_listen, args=(jobs,), daemon=True).start()
    while True:
        answers.write(json.dumps(answer(jobs.get())) + "\n")
        answers.flush()


def answer(line: str) -> dict[str, object]:
    """Compute the job in a line of JSON and return its outcome, or what went wrong, as plain values."""
    from runners.stages.execute import execute

    document = json.loads(line)
    inputs = {name: (kind, key) for name, (kind, key) in document.pop("inputs").items()}
    try:
        outcome = execute(Job(**document, inputs=inputs))
    except Exception as error:
        return failure(error)
    return {
        "status": outcome.status.value,
        "result": outcome.result,
        "seconds": outcome.seconds,
        "warm_up_seconds": outcome.warm_up_seconds,
    }


def failure(error: Exception) -> dict[str, object]:
    """Return an exception as plain values: refusals keep their exit code, others their traceback."""
    lines = traceback.format_exception(error)
    code = getattr(error, "exit_code", None)
    return {"error": f"{type(error).__name__}: {error}", "trace": "".join(lines), "exit_code": code}


def as_line(job: Job) -> str:
    """Return a job as the line of JSON that a worker takes."""
    return json.dumps(asdict(job))


def private_output() -> TextIO:
    """Keep the answers' channel to ourselves; whatever else prints goes to the error stream."""
    channel = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return channel


def _listen(jobs: "queue.Queue[str]") -> None:
    for line in sys.stdin:
        jobs.put(line)
    os._exit(0)  # the driver is gone: nobody waits for the result, and the stage's own folder keeps what is done


if __name__ == "__main__":
    main()
