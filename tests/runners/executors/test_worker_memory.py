"""The memory of a worker process: reused within a stage, returned to the system after it."""

import os
import subprocess
import sys

from runners.executors.local import worker_environment
from tests.factories.paths import ROOT

TENSORS = """
import resource
from pathlib import Path
import torch
from runners.executors.worker import return_free_memory

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

torch.ones(8 << 20)  # 32 MB
before, began = resource.getrusage(resource.RUSAGE_SELF).ru_minflt, resident()
for _ in range(200):
    torch.ones(1 << 20)  # the logits of a small batch: 4 MB
kept = [torch.ones(1 << 18) for _ in range(100)]
faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
del kept
return_free_memory()
print(faults, resident() - began)
"""


def test_freed_tensors_are_reused_within_a_stage_and_returned_after_it() -> None:
    asked = [sys.executable, "-c", TENSORS]
    environment = {**os.environ, **worker_environment()}
    told = subprocess.run(asked, cwd=ROOT, env=environment, capture_output=True, text=True, check=True).stdout
    faults, more = map(int, told.split())
    assert faults < 60_000  # a mapping for every tensor would cost 1,024 pages of 4 kB each, 230,000 in all
    assert more < 32 << 20
