"""What the machine lacks for an experiment is named before the first stage: data, libraries and a GPU."""

import sys
import unicodedata
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest
from tokenizers.normalizers import BertNormalizer

from runners import missing_data
from runners.missing_data import missing_device, refuse_missing
from runners.opening import RunRequest, refuse_missing_device
from runners.run import run
from runners.settings import RunSettings
from runners.text_warnings import lost_marks, short_text
from steeplechase.commands.arguments import choose
from steeplechase.configuration.loading import load_experiment
from steeplechase.foundation import devices, environment
from steeplechase.foundation.errors import DataError, MachineError
from steeplechase.ledger.paths import ResultPaths
from tests.factories.command_calls import TABLE
from tests.factories.simulated_training import experiment


def test_missing_data_and_libraries_are_named_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)  # what Python does where it is not installed
    monkeypatch.setenv("STEEPLECHASE_DATA", str(tmp_path))
    with pytest.raises(DataError) as refusal:
        refuse_missing(load_experiment(TABLE, "paper"))
    lines = refusal.value.lines
    assert any("Skylion007/openwebtext of the Hugging Face hub needs the extra `datasets`" in line for line in lines)
    assert len(lines) == 10  # eight tasks and the common hint


def test_a_text_that_is_probably_too_short_for_the_held_out_sequences_is_named(tmp_path: Path) -> None:
    """Of 28,000 bytes 4% are validation text: at four bytes a token 280 tokens, 17 sequences of 16."""
    for asked, lines in ((17, 0), (18, 1)):
        pretraining = {"tokens": 2560, "seeds": [1], "held_out_sequences": asked}
        found = [*short_text(experiment(tmp_path, pretraining=pretraining))]
        assert len(found) == lines
        assert all("has about 17 sequences of 16 tokens" in line for line in found)


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        ("\u0e17\u0e35\u0e48\u0e19\u0e35\u0e48 ", "THAI CHARACTER SARA II, THAI CHARACTER MAI EK"),
        ("\u0939\u093f\u0928\u094d\u0926\u0940 ", "DEVANAGARI SIGN VIRAMA"),
        ("\u304c\u304e ", "COMBINING KATAKANA-HIRAGANA VOICED SOUND MARK"),
        ("na\u00efve caf\u00e9 \u0439 ", ""),
        ("\u4e2d\u6587 \uac00 ", ""),
    ],
)
def test_marks_of_other_scripts_that_lower_case_removes_are_named(text: str, mark: str, tmp_path: Path) -> None:
    (tmp_path / "corpus.txt").write_text(text * 300)
    corpus = {"kind": "text_files", "path": str(tmp_path / "corpus.txt")}
    normalised = BertNormalizer(lowercase=True).normalize_str(text)
    assert not any(unicodedata.category(each) == "Mn" for each in normalised)
    lines = [*lost_marks(experiment(tmp_path, corpus=corpus))]
    assert len(lines) == bool(mark)
    assert all(f"({mark})" in line and line.endswith("Write lowercase: false") for line in lines)
    cased = {"kind": "wordpiece", "lowercase": False}
    assert not [*lost_marks(experiment(tmp_path, corpus=corpus, tokenizer=cased))]


@pytest.mark.parametrize(
    ("torch", "visible", "reason"),
    [
        ("2.13.0+cpu", None, "the installed PyTorch is built for CPUs alone"),
        ("2.13.0", "", "CUDA_VISIBLE_DEVICES hides every GPU"),
        ("2.13.0+cu130", None, "the system has no GPU device"),
    ],
)
def test_why_there_is_no_gpu(
    torch: str, visible: str | None, reason: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(environment, "version", lambda _: torch)
    monkeypatch.setattr(environment, "GPU_DEVICES", (str(tmp_path / "none"),))
    monkeypatch.setattr(environment.platform, "system", lambda: "Linux")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert environment.gpu_missing() == reason
    monkeypatch.setattr(environment, "GPU_DEVICES", (str(tmp_path),))
    assert (environment.gpu_missing() is None) == torch.endswith("cu130")


def test_a_run_on_a_missing_gpu_is_refused_before_any_folder_is_created(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runners.missing_data.gpu_missing", lambda: "there is none")
    experiment, *_ = choose(TABLE, "smoke", ["baseline.recipe.device=cuda"])
    with pytest.raises(MachineError, match=r"recipe\.device: cuda of every arm is not available on this machine"):
        run(RunRequest(experiment, "smoke", ResultPaths.of(tmp_path / "out")), lambda _: None)
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr("runners.missing_data.gpu_missing", lambda: None)
    assert [*missing_device(experiment)] == []


@pytest.fixture
def card_here(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """An RTX 4090 with all that it needs."""
    monkeypatch.setattr("runners.missing_data.gpu_missing", lambda: None)
    monkeypatch.setenv(devices.CARD, "NVIDIA GeForce RTX 4090")
    devices.card.cache_clear()
    yield monkeypatch
    devices.card.cache_clear()


def test_a_card_without_triton_or_bfloat16_is_refused_in_a_line_each(card_here: pytest.MonkeyPatch) -> None:
    chosen = ["baseline.recipe.device=cuda", "baseline.recipe.precision=bfloat16"]
    experiment, *_ = choose(TABLE, "smoke", chosen)
    assert [*missing_device(experiment)] == []
    card_here.setattr(missing_data, "triton_version", lambda: "none")
    card_here.setattr(missing_data, "compute_capability", lambda: 7.5)
    triton, precision = missing_device(experiment)
    assert triton.startswith("recipe.device: cuda of every arm needs Triton, which is not installed")
    assert precision.endswith("(compute capability 7.5) lacks it, which came with 8.0; allowed: float32")


@pytest.mark.parametrize(("share", "refused"), [(None, False), (1e-6, True)])
def test_a_card_that_is_too_small_is_refused_before_any_folder_is_created(
    card_here: pytest.MonkeyPatch, share: float | None, refused: bool, tmp_path: Path
) -> None:
    experiment, *_ = choose(TABLE, "smoke", ["baseline.recipe.device=cuda"])
    settings = RunSettings(gpus_per_trial=share)
    request = RunRequest(experiment, "smoke", ResultPaths.of(tmp_path / "out"), settings)
    with pytest.raises(MachineError, match="twice the micro-batches where that helps") if refused else nullcontext():
        refuse_missing_device(request)
    assert list(tmp_path.iterdir()) == []
