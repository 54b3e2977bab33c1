"""A worker returns to the system what a stage has freed: its heap does not grow with the stages computed."""

import subprocess
import sys

import pytest

from runners.executors.local import worker_environment
from tests.factories.paths import ROOT

STAGE = """
from pathlib import Path
from resource import getpagesize
from runners.executors.worker import return_free_memory

def megabytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * getpagesize() // 2**20

kept, before = [], megabytes()
for _ in range(3):
    freed = [b"x" * (60_000 + size) for size in range(3_000)]  # in the heap
    kept.append(bytearray(60_000))  # above what is freed, so that the heap's end cannot move
    used = megabytes()
    del freed
    return_free_memory()
    print(used - before, megabytes() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the heap of glibc, and /proc")
def test_what_a_stage_has_freed_is_returned_although_the_heap_is_fragmented() -> None:
    done = subprocess.run(
        [sys.executable, "-c", STAGE], cwd=ROOT, env=worker_environment(), capture_output=True, text=True, check=True
    )
    found = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    assert len(found) == 3
    for used, left in found:
        assert used > 100
        assert left < 20
