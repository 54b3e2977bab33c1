"""`describe` of a published model, of each kind of file, and of invalid targets."""

import json
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from search_space.cost import CONVENTIONS
from search_space.released.models import PRESETS
from search_space.released.papers import published
from tests.factories.command_calls import TABLE, Call

ARCHITECTURE = "{ depth: 3, width: 64, embedding_width: 64, heads: 4, feed_forward_width: 128, positions: 96 }\n"
MISTAKEN = """\
architecture:
  depht: 3
  heads: 3
  convolution: { kind: dynamic, kernel_size: 8 }
recipe: { batch_sequences: many }
"""


def described(call: Call, *arguments: str | Path) -> dict[str, Any]:
    answer = call("describe", *arguments, "--json")
    assert (answer.code, answer.err) == (0, "")
    document: dict[str, Any] = json.loads(answer.out)
    return document


def test_the_parts_add_up_to_the_model(call: Call) -> None:
    for name, flops in zip(PRESETS, cycle(CONVENTIONS), strict=False):
        document, preset, convention = described(call, name, "--flops", flops), PRESETS[name], CONVENTIONS[flops]
        architecture, recipe = preset.candidate.architecture, preset.candidate.recipe
        assert (document["name"], document["flops_convention"]) == (name, flops)
        assert document["parameters"] == architecture.parameters, name
        assert document["length"] == recipe.sequence_length, name
        assert document["forward_flops"] == architecture.forward_flops(recipe.sequence_length, convention), name
        for key in ("parameters", "forward_flops"):
            assert sum(part[key] for part in document["parts"]) == document[key], name
        heads = sum(head["parameters"] for head in document["heads"])
        assert document["head_parameters"] == (heads if preset.has_objective else None), name
        if preset.updates is None:
            assert document["train_flops"] is None, name
        else:
            whole = preset.candidate.train_flops(preset.tokens, architecture, convention)
            assert document["train_flops"] == whole == preset.updates * document["update_flops"], name
        branches = document["branches"]
        for key in ("parameters", "forward_flops", "width") if name != "gpt-lstm" else ():
            assert sum(branch[key] for branch in branches.values()) == pytest.approx(1), name
            assert (branches["convolution"][key] > 0) == (architecture.convolution.kind != "none"), name
        if architecture.layers is None:
            parts = {part["name"]: part["parameters"] for part in document["parts"]}
            with_parameters_of_their_own = 1 if architecture.sharing == "all" else architecture.depth
            for part in document["block"]:
                assert parts[part["name"]] == with_parameters_of_their_own * part["parameters"], name


def test_a_published_model_has_its_count_under_the_papers_convention_and_a_picture(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    for name, preset in PRESETS.items():
        document, costs = described(call, name), published().costs_of_model(name)
        counted = document["parameters_as_published"]
        assert counted["parameters"] == counted["published"] == costs.published_parameters, name
        assert counted["convention"] == (
            "with the output layer" if costs.output_layer else "with pooler" if costs.pooler else "without pooler"
        ), name
        assert (document["parameters"] == counted["parameters"]) != (costs.pooler or costs.output_layer), name
        assert counted["source"] in published().sources.values(), name
        assert counted["printed_as"] == costs.printed_parameters, name
        assert (counted["printed_source"] is None) == (costs.printed_parameters is None), name
        assert document["notes"] == list(preset.notes), name
        out = call("describe", name).out
        assert f"{costs.published_parameters:,} parameters {counted['convention']}" in " ".join(out.split()), name
        assert "\x1b" not in out
        assert max(map(len, out.splitlines())) <= 80, name
        architecture = preset.candidate.architecture
        parts = ["1 block" if architecture.depth == 1 else f"{architecture.depth} blocks"]
        parts += ["LSTM of 2048, one direction"] if name == "gpt-lstm" else ["self-attention", "feed-forward"]
        if architecture.convolution.branch_width_ratio:
            parts += [architecture.convolution.kind, "window of 9 tokens", "concatenated"]
        assert all(part in out for part in (f"{architecture.parameters:,}", *parts)), name


def test_what_a_token_reads_is_told_by_the_parts_that_read(call: Call) -> None:
    def told(name: str) -> str:
        (line,) = [line for line in call("describe", name).out.splitlines() if line.startswith("receptive field")]
        return line.removeprefix("receptive field: ")

    assert told("convbert-small") == "97 tokens by the convolutions, all 128 by attention"
    assert told("bert-base") == "all by attention alone"
    assert told("electra-small") == "all by attention alone"
    assert told("gpt") == "all up to itself by attention alone"
    assert told("gpt-lstm") == "all up to itself by recurrence alone"
    assert "branch" not in call("describe", "gpt-lstm").out


def test_length_and_batch_are_the_recipes_by_default(call: Call) -> None:
    usual, other = described(call, "convbert-small"), described(call, "convbert-small", "--length", "64")
    fewer = described(call, "convbert-small", "--batch", "1")
    assert (other["length"], fewer["batch"], usual["batch"]) == (64, 1, 128)
    assert other["forward_flops"] < usual["forward_flops"] == fewer["forward_flops"]
    for kind in ("float32", "bfloat16"):
        total = usual["activation_memory"][kind]["total"]
        assert total == pytest.approx(2 * other["activation_memory"][kind]["total"])
        assert total == pytest.approx(128 * fewer["activation_memory"][kind]["total"])


def test_a_file_may_hold_an_architecture_a_candidate_or_an_experiment(call: Call, tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(ARCHITECTURE)
    alone = described(call, file)
    assert (alone["name"], alone["length"], alone["head_parameters"], alone["heads"]) == ("mine", 96, None, [])
    file.write_text(f"architecture: {ARCHITECTURE}recipe: {{ sequence_length: 32, dropout: 0.0 }}\n")
    taught = described(call, file)
    assert (taught["parameters"], taught["length"]) == (alone["parameters"], 32)
    assert taught["head_parameters"] > 0
    baseline = described(call, TABLE, "--scale", "smoke")
    arm = described(call, TABLE, "--scale", "smoke", "--arm", "span_dynamic")
    assert baseline["receptive_field"] is None
    assert arm["receptive_field"] == 17
    assert arm["head_parameters"] == baseline["head_parameters"]


def test_at_paper_scale_the_generator_is_built_like_the_arm(call: Call) -> None:
    baseline = described(call, TABLE, "--scale", "paper")
    arm = described(call, TABLE, "--scale", "paper", "--arm", "span_dynamic")
    assert baseline["head_parameters"] == 66_049 + 647_162
    assert arm["head_parameters"] == 66_049 + 810_086  # as released: run_pretraining.py copies the convolution


def test_all_mistakes_of_a_file_are_reported_at_once_with_their_lines(call: Call, tmp_path: Path) -> None:
    file = tmp_path / "mistaken.yaml"
    file.write_text(MISTAKEN)
    answer = call("describe", file)
    assert (answer.code, answer.out) == (3, "")
    lines = answer.err.splitlines()
    assert [line.removeprefix(f"{file}:").partition(":")[0] for line in lines] == ["2", "4", "5"]
    assert "Did you mean 'depth'?" in lines[0]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("describe",), 2, ["ARCHITECTURE"]),
        (("describe", "convbert-smal"), 3, ["Did you mean convbert-small?", "electra-base"]),
        (("describe", "electra-small", "--flops", "electr"), 3, ["matmul", "Did you mean electra?"]),
        (("describe", "electra-small", "--arm", "dynamic"), 3, ["--arm", "experiment"]),
        (("describe", "electra-small", "--length", "513"), 3, ["513", "512 positions"]),
        (("describe", TABLE, "--arm", "dynamik"), 3, ["Did you mean dynamic?"]),
        (("describe", "experiments/nothing.yaml"), 3, ["experiments/nothing.yaml"]),
    ],
)
def test_an_invalid_target_of_describe_is_an_error(
    call: Call, arguments: tuple[str | Path, ...], code: int, words: list[str]
) -> None:
    answer = call(*arguments)
    assert (answer.code, answer.out) == (code, "")
    assert "Traceback" not in answer.err
    for word in words:
        assert word in answer.err


def test_plan_counts_by_the_convention_it_names(call: Call) -> None:
    by_matmul, by_electra = (
        json.loads(call("plan", TABLE, "--scale", "smoke", "--flops", name, "--json").out)
        for name in ("matmul", "electra")
    )
    assert (by_matmul["flops_convention"], by_electra["flops_convention"]) == ("matmul", "electra")
    for cheap, dear in zip(by_matmul["arms"], by_electra["arms"], strict=True):
        assert cheap["parameters"] == dear["parameters"]
        assert cheap["forward_flops"] < dear["forward_flops"]
    assert "FLOPs by electra" in call("plan", TABLE, "--scale", "smoke", "--flops", "electra").out
