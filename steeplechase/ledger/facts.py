"""The types of a ledger's facts, checked where a database or an export is read; a fact of no known name is free."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, Field, FiniteFloat, TypeAdapter, ValidationError

from steeplechase.foundation.canonical import parsed_json
from steeplechase.foundation.names import Sha256
from steeplechase.foundation.schema import Count, JsonValue, Schema, Seed, Whole, first_fault
from steeplechase.ledger.phase_plans import CHOICES, FINALISTS, TUNING, WINNER, Choice, FinalPlan, TuningPlan
from steeplechase.ledger.records import Label
from steeplechase.ledger.task_references import PROBE_REFERENCE, REFERENCES, AddedReferences, ProbeReference

Seconds = Annotated[FiniteFloat, Field(ge=0)]
Object = dict[str, JsonValue]
NUMBER = re.compile(r" [1-9][0-9]*")


Labels = list[Label]


def _checked_by(kind: Any) -> Callable[[JsonValue], object]:
    adapter: TypeAdapter[Any] = TypeAdapter(kind)
    return lambda content: adapter.validate_json(json.dumps(content), strict=True)


class _Fact(Schema, extra="ignore"):
    """A later version may add a field."""


class SessionStart(_Fact):
    """The begin of a session, on a machine."""

    command: str
    started: str
    machine: Object


class SessionDuration(_Fact):
    """The end of a session whose process was not killed."""

    seconds: Seconds


class SessionStop(_Fact):
    """What ended a session before its work was done."""

    limit: str | None = None
    interruption: str | None = None
    unfinished_seconds: Seconds | None = None


class ReusedSource(_Fact):
    """Results that trials of a ledger were taken from."""

    name: str
    """Name of the folder that was given."""
    sha256: Sha256
    """Of the checksum file of its rows."""
    machines: list[Object]
    """The machines that computed them, as sessions record them."""


class _Identity(_Fact):
    """What an experiment is compared by; the sections that may grow are objects."""

    experiment: str
    pretraining: Object | None = None
    fine_tuning: Object | None = None


class _DeclaredArm(_Fact):
    name: str
    changes: Object
    levels: Object | None = None


class _Declared(_Fact):
    arms: list[_DeclaredArm]
    seeds: list[Seed] | None
    labels: Labels
    stages: list[str]
    shared: dict[str, Sha256]


def _in_the_form_of(kind: Any) -> AfterValidator:
    """Return a validator that leaves a value as it is, and refuses one of another form."""
    check = _checked_by(kind)
    return AfterValidator(lambda content: (check(content), content)[1])


class Amendment(_Fact):
    """A later version of an experiment; `document` and `identity` are valid from then on."""

    after_record: Whole
    """Number of the last record of a trial before it; 0 if there was none."""
    moment: str
    """UTC time, for display only."""
    changed: tuple[str, ...] = Field(strict=False)
    """Changed parts: `arms`, other sections that decide what is run, and names in `VERDICT_SECTIONS`."""
    document: Object
    identity: Annotated[Object, _in_the_form_of(_Identity)]
    impossible: Annotated[list[JsonValue], _in_the_form_of(list[list[str]])]
    """The impossible points that were left out."""
    declared: Annotated[Object, _in_the_form_of(_Declared)] | None = None
    """Arms, seeds and stages from then on, for `ledger/amendments.py`; None where every row is declared."""


class EarlierCandidate(_Fact):
    """A finished candidate of another search."""

    changes: Object
    losses: list[float]
    objectives: list[float]


class EarlierSearch(_Fact):
    """The finished candidates of another search of the same space."""

    content: Sha256
    """Fingerprint of the candidates."""
    candidates: list[EarlierCandidate]
    optimised: list[str]
    """Its objectives in effect, then the tasks of its score."""


def _reported_half(content: JsonValue) -> None:
    """Raise ValueError unless the bits, in hexadecimal digits, are as many as the count before them."""
    _, digits = TypeAdapter(tuple[Count, str]).validate_python(content, strict=False)
    bytes.fromhex(digits)


_FACTS: Mapping[str, Callable[[JsonValue], object]] = {
    "experiment": _checked_by(str),
    "scale": _checked_by(str),
    "drawn identity": _checked_by(str),
    "labels": _checked_by(Labels),
    "document": _checked_by(Object),
    "identity": _checked_by(_Identity),
    "manifest": _checked_by(Object),
    "impossible": _checked_by(list[list[str]]),
    "importance": _checked_by(dict[str, FiniteFloat]),
    "parents": _checked_by(dict[str, str]),
    "amendment": _checked_by(Amendment),
    "session": _checked_by(SessionStart),
    "session duration": _checked_by(SessionDuration),
    "session stopped": _checked_by(SessionStop),
    "reused": _checked_by(ReusedSource),
    "reported half": _reported_half,
    "audit": _checked_by(list[str]),
    "warm_start": _checked_by(list[EarlierSearch]),
    TUNING: TuningPlan.of,
    CHOICES: _checked_by(list[Choice]),
    FINALISTS: FinalPlan.of,
    PROBE_REFERENCE: ProbeReference.of_fact,
    WINNER: _checked_by(list[str]),
    REFERENCES: _checked_by(list[AddedReferences]),
}
"""By name, without the number of a version, of a session or of a source."""


def checked_fact(name: str, text: str) -> JsonValue:
    """Return the value of a fact from its JSON. Raises ValueError, in one line, unless it is of the fact's type."""
    content = parsed_json(text)
    kind = "reported half" if name.startswith("reported half ") else NUMBER.sub("", name)
    try:
        if (check := _FACTS.get(kind)) is not None:
            check(content)
    except ValidationError as error:
        raise ValueError(first_fault(error)) from error
    return content
