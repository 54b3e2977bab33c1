"""A command reads an experiment file once, and the file that it has its scales from once."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COUNTING = """
import sys
from pathlib import Path
opened = []
sys.addaudithook(lambda event, given: opened.append(Path(str(given[0])).name) if event == "open" else None)
from commands.arguments import choose_any
_, scale, _ = choose_any(Path(sys.argv[1]), "smoke")
print(scale, *sorted(name for name in opened if name.endswith(".yaml")))
"""


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("table2", "table2.yaml"),
        ("table9", "table9.yaml"),
        ("kernel_size_short", "kernel_size.yaml kernel_size_short.yaml table2.yaml"),
    ],
)
def test_a_file_is_read_once(name: str, read: str) -> None:
    command = [sys.executable, "-c", COUNTING, f"experiments/{name}.yaml"]
    found = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    assert found == ["smoke", *read.split()]
