"""Expressions on values: a small language of numbers, texts, names and comparisons, parsed here and never evaluated.

    any      := all ("or" all)*
    all      := not ("and" not)*
    not      := "not" not | compared
    compared := sum (("<" | "<=" | ">" | ">=" | "==" | "!=" | "in") sum)*
    sum      := product (("+" | "-") product)*
    product  := signed (("*" | "/" | "//" | "%") signed)*
    signed   := "-" signed | value
    value    := number | 'text' | name | "(" any ")" | "[" any ("," any)* "]"

A name may have no value at a point. What is said of it is then neither true nor false (Kleene's third value).
"""

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Union

CHARACTERS_AT_MOST = 200

Constant = bool | int | float | str
Value = Union[bool, int, float, str, None, tuple["Value", ...]]  # noqa: UP007 — it speaks of itself
"""None is a name without a value."""
Lookup = Callable[[str], Value]
Meaning = Callable[[Lookup], Value]

_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d+)?(?:[eE][-+]?\d{1,2})?)(?![\w.])|(?P<text>'[^']*'|\"[^\"]*\")"
    r"|(?P<name>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)|(?P<sign><=|>=|==|!=|//|[-+*/%<>()\[\],]))"
)
_ORDERS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_SUMS: dict[str, Callable[[float, float], float]] = {"+": operator.add, "-": operator.sub}
_PRODUCTS: dict[str, Callable[[float, float], float]] = {
    "*": operator.mul, "/": operator.truediv, "//": operator.floordiv, "%": operator.mod,
}  # fmt: skip
_WORDS = ("and", "or", "not", "in")
_TRUTHS: dict[str, Constant] = {"true": True, "false": False}


class InvalidExpression(ValueError):
    """The text is no expression, or cannot be asked of the values that there are."""


@dataclass(frozen=True)
class Expression:
    """A parsed text and the names that it asks for, in the order in which they stand."""

    text: str
    names: tuple[str, ...]
    meaning: Meaning
    equalities: tuple[tuple[str, Constant], ...] = ()
    """Every name that is set equal or unequal to a literal, or looked for in a list, with that literal."""

    def truth(self, lookup: Lookup) -> bool | None:
        """Return whether it holds, None where that hangs on a name without a value. Raises InvalidExpression."""
        return _truth(self.meaning(lookup))


def parse(text: str) -> Expression:
    """Return the expression. Raises InvalidExpression with the place and what was expected there."""
    if len(text) > CHARACTERS_AT_MOST:
        raise InvalidExpression(f"{len(text)} characters are too many; at most {CHARACTERS_AT_MOST} allowed")
    parser = _Parser(text)
    meaning = parser.any()
    if parser.kind != "end":
        raise parser.expected("a comparison, and, or, or the end")
    return Expression(text, tuple(dict.fromkeys(parser.names)), meaning, tuple(dict.fromkeys(parser.equalities)))


class _Parser:
    """Recursive descent, one method per rule of the grammar."""

    def __init__(self, text: str) -> None:
        self._text, self._end = text, 0
        self.names: list[str] = []
        self.equalities: list[tuple[str, Constant]] = []
        self._name_of: dict[Meaning, str] = {}
        self._literals_of: dict[Meaning, tuple[Constant, ...]] = {}
        self.kind, self._token, self._start = "", "", 0
        self._advance()

    def expected(self, what: str) -> InvalidExpression:
        found = f"found {self._token!r}" if self._token else "the text ends"
        return InvalidExpression(f"{what} is needed at character {self._start + 1}, but {found}")

    def any(self) -> Meaning:
        return self._joined(self._all, "or", _any)

    def _all(self) -> Meaning:
        return self._joined(self._not, "and", _all)

    def _joined(self, part: Callable[[], Meaning], word: str, join: Callable[[list[Value]], Value]) -> Meaning:
        parts = [part()]
        while self._take(word):
            parts.append(part())
        return parts[0] if len(parts) == 1 else lambda lookup: join([each(lookup) for each in parts])

    def _not(self) -> Meaning:
        if not self._take("not"):
            return self._compared()
        inner = self._not()
        return lambda lookup: _negated(_truth(inner(lookup)))

    def _compared(self) -> Meaning:
        first, pairs = self._sum(), []
        while self._token in (*_ORDERS, "==", "!=", "in") and self.kind != "text":
            sign = self._token
            self._advance()
            pairs.append((sign, self._sum()))
            if sign not in _ORDERS:
                self._note_equality(pairs[-2][1] if len(pairs) > 1 else first, pairs[-1][1])
        if not pairs:
            return first

        def meaning(lookup: Lookup) -> Value:
            values = [first(lookup), *(other(lookup) for _, other in pairs)]
            return _all([_compare(values[at], sign, values[at + 1]) for at, (sign, _) in enumerate(pairs)])

        return meaning

    def _note_equality(self, left: Meaning, right: Meaning) -> None:
        for one, other in ((left, right), (right, left)):
            if one in self._name_of:
                literals = self._literals_of.get(other, ())
                self.equalities += [(self._name_of[one], literal) for literal in literals]

    def _sum(self) -> Meaning:
        return self._calculated(self._product, _SUMS)

    def _product(self) -> Meaning:
        return self._calculated(self._signed, _PRODUCTS)

    def _calculated(self, part: Callable[[], Meaning], signs: dict[str, Callable[[float, float], float]]) -> Meaning:
        first, rest = part(), []
        while self._token in signs and self.kind == "sign":
            sign = self._token
            self._advance()
            rest.append((sign, part()))

        def meaning(lookup: Lookup) -> Value:
            value = first(lookup)
            for sign, other in rest:
                value = _calculate(value, sign, signs[sign], other(lookup))
            return value

        return meaning if rest else first

    def _signed(self) -> Meaning:
        if not self._take("-"):
            return self._value()
        inner = self._signed()
        return lambda lookup: _calculate(0, "-", operator.sub, inner(lookup))

    def _value(self) -> Meaning:
        if self._take("("):
            inner = self.any()
            self._close(")")
            return inner
        if self._take("["):
            items = [self.any()]
            while self._take(","):
                items.append(self.any())
            self._close("]")

            def listed(lookup: Lookup) -> Value:
                return tuple(item(lookup) for item in items)

            self._literals_of[listed] = tuple(one for item in items for one in self._literals_of.get(item, ()))
            return listed
        if self.kind not in ("number", "text", "name") or self._token in _WORDS:
            raise self.expected("a number, a 'text' or a name")
        return self._atom()

    def _atom(self) -> Meaning:
        kind, token = self.kind, self._token
        self._advance()
        if kind == "name" and token not in _TRUTHS:
            self.names.append(token)
            return self._named(token)
        known: Constant = _TRUTHS[token] if kind == "name" else token[1:-1] if kind == "text" else _number(token)
        return self._literal(known)

    def _named(self, name: str) -> Meaning:
        def looked_up(lookup: Lookup) -> Value:
            return lookup(name)

        self._name_of[looked_up] = name
        return looked_up

    def _literal(self, value: Constant) -> Meaning:
        def known(lookup: Lookup) -> Value:
            return value

        self._literals_of[known] = (value,)
        return known

    def _close(self, sign: str) -> None:
        if not self._take(sign):
            raise self.expected(f"'{sign}'")

    def _take(self, token: str) -> bool:
        taken = self._token == token and self.kind in ("sign", "name")
        if taken:
            self._advance()
        return taken

    def _advance(self) -> None:
        rest = self._text[self._end :]
        self._start = self._end + len(rest) - len(rest.lstrip())
        found = _TOKEN.match(self._text, self._end)
        if found is not None:
            self.kind, self._end = str(found.lastgroup), found.end()
            self._token = found[self.kind]
        elif rest.strip():
            self._token = rest.strip()[0]
            raise self.expected("a number, a 'text', a name or a sign")
        else:
            self.kind, self._token = "end", ""


def _number(token: str) -> int | float:
    value = float(token)
    return int(token) if token.isdigit() else int(value) if value.is_integer() else value


def _truth(value: Value) -> bool | None:
    if value is None or isinstance(value, bool):
        return value
    raise InvalidExpression(f"{value!r} is neither true nor false; compare it with something")


def _negated(truth: bool | None) -> bool | None:
    return None if truth is None else not truth


def _all(values: list[Value]) -> Value:
    truths = [_truth(value) for value in values]
    return False if False in truths else None if None in truths else True


def _any(values: list[Value]) -> Value:
    truths = [_truth(value) for value in values]
    return True if True in truths else None if None in truths else False


def _compare(left: Value, sign: str, right: Value) -> bool | None:
    if left is None or right is None:
        return None
    if sign == "in":
        if not isinstance(right, tuple):
            raise InvalidExpression("in needs a list, such as [1, 2]")
        return left in right
    if sign in ("==", "!="):
        return (left == right) == (sign == "==")
    return _ORDERS[sign](_numeric(left, sign), _numeric(right, sign))


def _calculate(left: Value, sign: str, function: Callable[[float, float], float], right: Value) -> Value:
    if left is None or right is None:
        return None
    try:
        return function(_numeric(left, sign), _numeric(right, sign))
    except (ZeroDivisionError, OverflowError):
        raise InvalidExpression(f"{left!r} {sign} {right!r} has no value") from None


def _numeric(value: Value, sign: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidExpression(f"{value!r} is not a number, and {sign} needs one")
    return value
