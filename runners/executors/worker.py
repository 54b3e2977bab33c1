"""A warm worker process: reads jobs as lines of JSON, computes them, and answers with lines of JSON.

It imports torch once, runs one thread, and exits immediately when its driver has ended.
"""

import ctypes
import gc
import json
import os
import queue
import sys
import threading
import traceback
from contextlib import suppress
from dataclasses import asdict

from runners.stages.stage import Job
from steeplechase.foundation.child_process import PARTNER_DIED_CODE, PartnerDied, private_output
from steeplechase.foundation.plugin_code import line_in_plugin

OUT_OF_MEMORY = "OutOfMemoryError"
"""Of torch, for the memory of a GPU; the name alone, as workers without a model import no torch."""
REMEDY = (
    ". Set more recipe.micro_batches or recipe.activation_checkpointing: selective, or give each trial more of a "
    "card: fewer --workers, a larger --gpus-per-trial"
)


def main() -> None:
    """Serve jobs until the input ends."""
    answers = private_output()
    jobs: queue.Queue[str] = queue.Queue()
    threading.Thread(target=_listen, args=(jobs,), daemon=True).start()
    while True:
        answers.write(json.dumps(answer(jobs.get())) + "\n")
        answers.flush()


def answer(line: str) -> dict[str, object]:
    """Compute the job in a line of JSON; return its outcome or its failure as plain values."""
    from runners.computing.execute import execute

    document = json.loads(line)
    inputs = {name: (kind, key) for name, (kind, key) in document.pop("inputs").items()}
    try:
        outcome = execute(Job(**document, inputs=inputs))
    except PartnerDied as death:
        sys.stderr.write(f"{death}\n")
        os._exit(PARTNER_DIED_CODE)  # the stage is repeated, as after the death of this process
    except (Exception, SystemExit) as error:  # a plugin's code may end a process
        return failure(error)
    finally:
        return_free_memory()
    return {
        "status": outcome.status.value,
        "result": outcome.result,
        "seconds": outcome.seconds,
        "warm_up_seconds": outcome.warm_up_seconds,
    }


def return_free_memory() -> None:
    """Return to the system what the stage has freed: the heap where the C library is glibc, and a GPU's cache."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        gc.collect()
        torch.cuda.empty_cache()  # or the workers that share the card would find it full
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)


def failure(error: Exception | SystemExit) -> dict[str, object]:
    """Return an exception as plain values: message, traceback, and the exit code of a UserError.

    The message of code of a plugin ends with the line of it that failed.
    """
    lines = traceback.format_exception(error)
    code = getattr(error, "exit_code", None)
    text = f"{type(error).__name__}: {error}"
    if type(error).__name__ == OUT_OF_MEMORY:
        text = text.partition("\n")[0] + REMEDY
    elif code is None and (place := line_in_plugin(error)) is not None:
        text = f"{' '.join(text.split())} ({place})"
    return {"error": text, "trace": "".join(lines), "exit_code": code}


def as_line(job: Job) -> str:
    """Return a job as a line of JSON for a worker."""
    return json.dumps(asdict(job))


def _listen(jobs: "queue.Queue[str]") -> None:
    for line in sys.stdin:
        jobs.put(line)
    os._exit(0)  # the driver has ended; the stage's folder holds its checkpoints


if __name__ == "__main__":
    main()
