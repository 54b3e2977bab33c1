"""Layer programs: the order of a stack's sublayers as text, such as `(s f)*12`.

    program := item+
    item    := atom | chain | parallel | "(" item+ ")*" count | atom "*" count
    atom    := a letter of search_space/sublayer/: s | c | f | g | r, optionally with settings: f(activation=relu)
    parallel:= "[" branch "|" branch "]"          branches added under one residual; branch := atom | chain
    chain   := "<" operation+ ">"                 a chain of operations inside one residual
    operation := lin:width:activation | conv:kernel:width:activation | sep:kernel:width:activation | ln
               | "[" operation "|" operation "]"  the activation may be left out; widths are multiples of the model's

s is self-attention, c cross-attention, f feed-forward, g a gated linear unit, r recurrent; a plugin's sublayer has a
letter or a word of its own. Every item is one sublayer with its own norm and residual. One axis thus has depth,
interleaving, Sandwich Transformers (Press et al. 2020, arXiv 1911.03864), recurrent baselines and the cells of the
Evolved Transformer (So et al. 2019, arXiv 1901.11117).

The canonical text is expanded: `(s f)*2` and `s f s f` are one program.
"""

import re
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple, NoReturn, TypeVar

from search_space.layer_program import (
    Chain,
    Item,
    LayerProgram,
    Operation,
    OperationKind,
    Parallel,
    ParallelOperations,
    Setting,
    Sublayer,
)
from search_space.sublayer import add_recorded_sublayer, sublayers_by_letter
from search_space.sublayer.own_convolution import admit_convolution
from steeplechase.foundation.schema import cached_until_options_change

CHARACTERS_AT_MOST = 4096
ITEMS_AT_MOST = 4096
"""Of an expanded program."""
RECORDED_LETTERS_AT_MOST = 16
"""Letters of one record's program that are of plugins that are not loaded."""

Branch = TypeVar("Branch")


class InvalidProgram(ValueError):
    """The text is no layer program; the message has the position of the mistake."""


class UnknownSublayer(InvalidProgram):
    """The text names a sublayer that there is not."""

    def __init__(self, message: str, letter: str) -> None:
        super().__init__(message)
        self.letter = letter


def admit_sublayers(text: str) -> None:
    """Let programs name the sublayers and convolutions of a record's, of plugins that may not be loaded."""
    for _ in range(RECORDED_LETTERS_AT_MOST):
        try:
            program = parse_program(text)
        except UnknownSublayer as unknown:
            add_recorded_sublayer(unknown.letter, unknown.letter)
        except InvalidProgram:
            return
        else:
            for sublayer in program.sublayers():
                admit_convolution(dict(sublayer.settings))
            return


def sandwich(layers: int, coefficient: int) -> LayerProgram:
    """Return the Sandwich Transformer s^k (s f)^(n-k) f^k. Raises ValueError for a coefficient outside 0 to n - 1."""
    if not 0 <= coefficient < layers:
        raise ValueError(f"coefficient {coefficient} is not from 0 to {layers - 1}")
    return parse_program(f"{'s ' * coefficient}(s f)*{layers - coefficient}{' f' * coefficient}")


@cached_until_options_change
def parse_program(text: str) -> LayerProgram:
    """Return the program that a text states. Raises InvalidProgram."""
    if len(text) > CHARACTERS_AT_MOST:
        raise InvalidProgram(f"{len(text):,} characters; a layer program has at most {CHARACTERS_AT_MOST:,}")
    parser = _Parser(text)
    items = parser.items(until="")
    return LayerProgram(tuple(items))


class _Token(NamedTuple):
    """A word or sign with its position; the last of every text is empty."""

    text: str
    start: int


_TOKEN = re.compile(r"\s*([A-Za-z_][\w.:]*|\d+(?:\.\d+)?|\S)")
_WORD = re.compile(r"[A-Za-z_]")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_WIDTH = re.compile(r"\d{1,4}(?:\.\d{1,6})?")
_FORMS = {
    OperationKind.LINEAR: ("width", "activation"),
    OperationKind.CONVOLUTION: ("kernel_size", "width", "activation"),
    OperationKind.SEPARABLE: ("kernel_size", "width", "activation"),
    OperationKind.NORM: (),
}
"""The fields after an operation's name; the activation may be left out."""


class _Parser:
    """Reads a text from left to right; a method reads one rule of the grammar."""

    def __init__(self, text: str) -> None:
        self._tokens = [_Token(found[1], found.start(1)) for found in _TOKEN.finditer(text.rstrip())]
        self._tokens.append(_Token("", len(text.rstrip())))
        self._at = 0

    def items(self, until: str) -> list[Item]:
        """Read items up to a sign, which is read too; "" is the end of the text."""
        opened = self._next
        found: list[Item] = []
        while self._next.text != until:
            if not self._next.text:
                self._refuse(f"the bracket before position {opened.start + 1} is not closed", self._next)
            found += self._item()
            if len(found) > ITEMS_AT_MOST:
                raise InvalidProgram(f"more than {ITEMS_AT_MOST:,} sublayers when expanded")
        if not found:
            self._refuse("a layer program has at least one sublayer here, such as s or (s f)*12", self._next)
        self._take()
        return found

    def _item(self) -> list[Item]:
        token = self._next
        if token.text == "(":
            self._take()
            group = self.items(until=")")
            return group * self._repeats(required=True, length=len(group))
        if token.text == "[":
            return [Parallel(self._pair(self._branch))]
        if token.text == "<":
            return [self._chain()]
        item = self._sublayer()
        return [item] * self._repeats(required=False, length=1)

    def _repeats(self, *, required: bool, length: int) -> int:
        if self._next.text != "*":
            if required:
                self._refuse("a group needs a count: (s f)*12", self._next)
            return 1
        self._take()
        token = self._take()
        most = ITEMS_AT_MOST // length
        if not (token.text.isascii() and token.text.isdigit() and 1 <= int(token.text[:9]) <= most):
            self._refuse(f"{token.text!r} is no count from 1 to {most}", token)
        return int(token.text)

    def _pair(self, read: Callable[[], Branch]) -> tuple[Branch, Branch]:
        self._expect("[")
        first = read()
        self._expect("|")
        second = read()
        self._expect("]")
        return first, second

    def _branch(self) -> Sublayer | Chain:
        return self._chain() if self._next.text == "<" else self._sublayer()

    def _sublayer(self) -> Sublayer:
        token = self._take()
        if token.text not in sublayers_by_letter():
            found = f"{token.text!r} is no sublayer" if token.text else "a sublayer is needed"
            message = f"position {token.start + 1}: {found}; allowed: {', '.join(sublayers_by_letter())}"
            raise UnknownSublayer(message, token.text) if _WORD.match(token.text) else InvalidProgram(message)
        touches = self._next.start == token.start + len(token.text)
        settings = self._settings() if self._next.text == "(" and touches else {}
        return Sublayer(token.text, tuple(sorted(settings.items())))

    def _settings(self) -> dict[str, Setting]:
        self._take()
        found: dict[str, Setting] = {}
        while True:
            name = self._take()
            if not _WORD.match(name.text):
                self._refuse(f"{name.text!r} is no name of a setting" if name.text else "a setting is needed", name)
            if name.text in found:
                self._refuse(f"{name.text!r} is set twice", name)
            self._expect("=")
            found[name.text] = self._value()
            if self._take_if(")"):
                return found
            self._expect(",")

    def _value(self) -> Setting:
        token = self._take()
        if token.text.isdecimal() and self._take_if("/"):
            return f"{token.text}/{self._take().text}"
        if _NUMBER.fullmatch(token.text):
            return float(token.text) if "." in token.text else int(token.text)
        if not _WORD.match(token.text):
            self._refuse(f"{token.text!r} is no value: a number or a word", token)
        return token.text

    def _chain(self) -> Chain:
        self._expect("<")
        found: list[Operation | ParallelOperations] = []
        while not self._take_if(">"):
            if self._next.text == "[":
                found.append(ParallelOperations(self._pair(self._operation)))
            else:
                found.append(self._operation())
        if not found:
            self._refuse("a chain has at least one operation, such as <lin:4:relu lin:1>", self._next)
        return Chain(tuple(found))

    def _operation(self) -> Operation:
        token = self._take()
        kind, *parts = token.text.split(":")
        if kind not in tuple(OperationKind):
            known = ", ".join(each.value for each in OperationKind)
            found = f"{token.text!r} is no operation; allowed: {known}" if token.text else "the chain is not closed"
            self._refuse(found, token)
        form = _FORMS[OperationKind(kind)]
        fields = dict(zip(form, parts, strict=False))
        if len(parts) > len(form) or any(name not in fields for name in form if name != "activation") or "" in parts:
            self._refuse(f"{token.text!r} is no operation; forms: lin:4:relu, conv:3:0.5:relu, sep:9:0.5, ln", token)
        return Operation(
            OperationKind(kind),
            self._kernel(fields["kernel_size"], token) if "kernel_size" in fields else None,
            self._width(fields["width"], token) if "width" in fields else None,
            fields.get("activation"),
        )

    def _kernel(self, text: str, token: _Token) -> int:
        if not (text.isascii() and text.isdigit() and int(text[:6]) % 2):
            self._refuse(f"kernel size {text!r} of {token.text!r} is no odd number", token)
        return int(text)

    def _width(self, text: str, token: _Token) -> Fraction:
        if not _WIDTH.fullmatch(text) or not Fraction(text):
            self._refuse(f"width {text!r} of {token.text!r} is no multiple of the model's, such as 4 or 0.5", token)
        return Fraction(text)

    @property
    def _next(self) -> _Token:
        return self._tokens[self._at]

    def _take(self) -> _Token:
        token = self._next
        self._at = min(self._at + 1, len(self._tokens) - 1)
        return token

    def _take_if(self, sign: str) -> bool:
        if self._next.text != sign:
            return False
        self._take()
        return True

    def _expect(self, sign: str) -> None:
        token = self._take()
        if token.text != sign:
            self._refuse(f"{sign!r} is needed, not {token.text!r}" if token.text else f"{sign!r} is needed", token)

    @staticmethod
    def _refuse(message: str, token: _Token) -> NoReturn:
        raise InvalidProgram(f"position {token.start + 1}: {message}")
