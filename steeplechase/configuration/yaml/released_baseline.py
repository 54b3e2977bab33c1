"""A baseline like a released model: `baseline: { like: convbert-small }`.

It begins with the model's architecture, objective and recipe. The file's own values, its scales' and those of `--set`
are merged over the model's.
"""

from search_space.released.models import PRESETS, Preset
from steeplechase.configuration.yaml.errors import Location, Mistake, mistake, shown
from steeplechase.configuration.yaml.nodes import Entries, Items, Leaf, Node, child
from steeplechase.configuration.yaml.scales import merged
from steeplechase.foundation.errors import did_you_mean
from steeplechase.foundation.schema import JsonValue, canonical

BASELINE_KEY = "baseline"
LIKE_KEY = "like"
DESCRIPTION = "A released model whose architecture, objective and recipe the file's own values are merged over."


def with_released_baseline(file: str, document: Entries) -> tuple[Entries, tuple[Mistake, ...]]:
    """Return the document with the model that its baseline is like, located at the line of `like`."""
    baseline = document.nodes.get(BASELINE_KEY)
    like = None if baseline is None else child(baseline, LIKE_KEY)
    if not isinstance(baseline, Entries) or like is None:
        return document, ()
    name = like.value if isinstance(like, Leaf) else None
    if not isinstance(name, str) or name not in PRESETS:
        return document, (mistake(file, like.location, _refusal(name)),)
    own = {key: node for key, node in baseline.nodes.items() if key != LIKE_KEY}
    released = located(_declared(PRESETS[name]), Location(like.location.line, (BASELINE_KEY,), like.location.origin))
    whole = merged(released, Entries(baseline.location, own, baseline.flawed))
    return Entries(document.location, {**document.nodes, BASELINE_KEY: whole}, document.flawed), ()


def _refusal(name: object) -> str:
    if not isinstance(name, str):
        return "the name of a released model is needed, such as convbert-small"
    known = did_you_mean(name, PRESETS) or f" Known: {', '.join(PRESETS)}"
    return f"{shown(name)} is not a released model.{known}"


def like_schema() -> dict[str, JsonValue]:
    """Return the schema of `like` for editors."""
    return {"type": "string", "enum": [*PRESETS], "description": DESCRIPTION}


def _declared(preset: Preset) -> JsonValue:
    """Return what the model sets; a layer program stands for its depth, which a program of the file may change."""
    declared = canonical(preset.candidate)
    architecture = declared.get("architecture")
    if isinstance(architecture, dict) and "layers" in architecture:
        architecture.pop("depth", None)
    if not preset.has_objective:
        declared.pop("objective", None)
    return declared


def located(value: JsonValue, location: Location) -> Node:
    """Return plain data as a node of a file, every part at one line."""
    if isinstance(value, dict):
        return Entries(location, {key: located(item, location.under(key)) for key, item in value.items()})
    if isinstance(value, list):
        return Items(location, tuple(located(item, location.under(place)) for place, item in enumerate(value)))
    return Leaf(location, value)
