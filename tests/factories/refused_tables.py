"""A user's table with mistakes, and the lines of its refusal."""

import re
from pathlib import Path
from typing import Any

import pytest

from steeplechase.configuration.fine_tuning import FineTuning
from steeplechase.foundation.errors import DataError
from steeplechase.tasks.own_tasks.resolution import resolve
from steeplechase.tasks.own_tasks.table import TableTask

LABELLED = {"text": "review", "label": "stars"}
GOOD = "review,stars\ngood,yes\nbad,no\n"


def refused(folder: Path, train: str | bytes, columns: dict[str, Any] | None = None, **more: Any) -> list[str]:
    """Return the lines of the refusal, with the file's name for its path, and without its column's setting."""
    suffix = more.pop("suffix", "csv")
    content = train if isinstance(train, bytes) else train.encode()
    (folder / f"train.{suffix}").write_bytes(content)
    for part in ("dev", "test"):
        if part in more:
            (folder / f"{part}.csv").write_text(more[part], encoding="utf-8")
            more[part] = str(folder / f"{part}.csv")
    more = more if more.keys() & {"dev", "dev_share"} else {"dev_share": 0.5, **more}
    document = {"kind": "table", "train": str(folder / f"train.{suffix}"), "columns": columns or LABELLED, **more}
    tuning = FineTuning.model_validate({"own_tasks": {"r": document}}, strict=False)
    task = tuning.own_tasks["r"]
    assert isinstance(task, TableTask)
    before = sorted(path.read_bytes() for path in folder.iterdir())
    with pytest.raises(DataError) as refusal:
        resolve("r", task)
    assert sorted(path.read_bytes() for path in folder.iterdir()) == before
    lines = (re.sub(r"^fine_tuning\.own_tasks\.r\.columns\.\w+: ", "", line) for line in refusal.value.lines)
    return [line.replace(f"{folder}/", "") for line in lines]
