"""The expression language of constraints: numbers, texts, paths and comparisons, parsed but not evaluated by Python.

A subset of Python's expression grammar: `or`, `and`, `not`, the comparisons `< <= > >= == != in` and their chains,
`+ - * / // %`, unary minus, brackets and lists; `true`, `false`, texts without escapes, and dotted paths. Every path,
text and number is replaced by a placeholder before Python's parser sees the text.

A path may lack a value at a point. A comparison with it is then neither true nor false (Kleene's third value).
"""

import ast
import operator
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, Union

CHARACTERS_AT_MOST = 200

Constant = bool | int | float | str
Value = Union[bool, int, float, str, None, tuple["Value", ...]]  # noqa: UP007 — recursive type
"""None is a path without a value."""
Lookup = Callable[[str], Value]

_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d+)?(?:[eE][-+]?\d{1,2})?)(?![\w.])|(?P<text>'[^']*'|\"[^\"]*\")"
    r"|(?P<sign><=|>=|==|!=|//|[-+*/%<>()\[\],]|(?:and|or|not|in)(?!\w|\.[A-Za-z_]))|(?P<name>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*))"
)
_CLOSED_BY = {"(": ")", "[": "]"}
_NEGATABLE = ("", "(", "[", ",", "and", "or", "not")
"""The tokens that `not` may follow."""
_TRUTHS = {"true": True, "false": False}
_ORDERS: dict[type[ast.cmpop], tuple[str, Callable[[float, float], bool]]] = {
    ast.Lt: ("<", operator.lt), ast.LtE: ("<=", operator.le),
    ast.Gt: (">", operator.gt), ast.GtE: (">=", operator.ge),
}  # fmt: skip
_CALCULATIONS: dict[type[ast.operator], tuple[str, Callable[[float, float], float]]] = {
    ast.Add: ("+", operator.add), ast.Sub: ("-", operator.sub), ast.Mult: ("*", operator.mul),
    ast.Div: ("/", operator.truediv), ast.FloorDiv: ("//", operator.floordiv), ast.Mod: ("%", operator.mod),
}  # fmt: skip


class InvalidExpression(ValueError):
    """The text is not an expression, or is undefined for the values of a candidate."""


class Token(NamedTuple):
    """A number, a text, a name or a sign with its position; the last token of every text is empty."""

    kind: str
    text: str
    start: int


class Path(NamedTuple):
    """A path whose value is looked up."""

    name: str


@dataclass(frozen=True)
class Expression:
    """A parsed expression: its tree over placeholders, and their values in the order of the text."""

    text: str
    tree: ast.expr
    atoms: tuple[Path | Constant, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The distinct paths of the expression, in the order of the text."""
        return tuple(dict.fromkeys(atom.name for atom in self.atoms if isinstance(atom, Path)))

    @property
    def equalities(self) -> tuple[tuple[str, Constant], ...]:
        """The (path, literal) pairs of comparisons for equality, inequality or membership."""
        return tuple(dict.fromkeys(self._equalities(self.tree)))

    def truth(self, lookup: Lookup) -> bool | None:
        """Return the truth value, None if it depends on a path without a value. Raises InvalidExpression."""
        return _truth(self._value(self.tree, lookup))

    def _value(self, node: ast.expr, lookup: Lookup) -> Value:
        match node:
            case ast.Name(id=placeholder):
                atom = self.atoms[int(placeholder[1:])]
                return lookup(atom.name) if isinstance(atom, Path) else atom
            case ast.List(elts=items):
                return tuple(self._value(item, lookup) for item in items)
            case ast.BoolOp(op=join, values=parts):
                truths = [*map(_truth, [self._value(part, lookup) for part in parts])]
                return _all(truths) if isinstance(join, ast.And) else _negated(_all([*map(_negated, truths)]))
            case ast.UnaryOp(op=sign, operand=inner):
                value = self._value(inner, lookup)
                return _negated(_truth(value)) if isinstance(sign, ast.Not) else _calculate(0, ast.Sub(), value)
            case ast.BinOp(left=left, op=calculation, right=right):
                return _calculate(self._value(left, lookup), calculation, self._value(right, lookup))
            case ast.Compare(left=first, ops=signs, comparators=others):
                values = [self._value(part, lookup) for part in (first, *others)]
                return _all([*map(_compare, values, signs, values[1:])])
        raise AssertionError(ast.dump(node))

    def _equalities(self, node: ast.expr) -> Iterator[tuple[str, Constant]]:
        left: ast.expr | None = None
        signs = iter(node.ops if isinstance(node, ast.Compare) else ())
        for part in ast.iter_child_nodes(node):
            if isinstance(part, ast.expr):
                yield from self._equalities(part)
                if left is not None and type(next(signs, ast.Lt())) not in _ORDERS:
                    yield from self._equality(left, part)
                    yield from self._equality(part, left)
                left = part

    def _equality(self, side: ast.expr, other: ast.expr) -> Iterator[tuple[str, Constant]]:
        if isinstance(side, ast.Name) and isinstance(path := self.atoms[int(side.id[1:])], Path):
            yield from ((path.name, literal) for literal in self._literals(other))

    def _literals(self, node: ast.expr) -> Iterator[Constant]:
        for item in node.elts if isinstance(node, ast.List) else [node]:
            if isinstance(item, ast.List):
                yield from self._literals(item)
            elif isinstance(item, ast.Name) and not isinstance(atom := self.atoms[int(item.id[1:])], Path):
                yield atom


def parse(text: str) -> Expression:
    """Return the expression. Raises InvalidExpression with the position and what was expected there."""
    if len(text) > CHARACTERS_AT_MOST:
        raise InvalidExpression(f"{len(text)} characters are too many; at most {CHARACTERS_AT_MOST} allowed")
    atoms: list[Path | Constant] = []
    signs: list[str] = []
    for token in _in_order(_tokens(text)):
        if token.kind in ("sign", "end"):
            signs.append(token.text)
        else:
            signs.append(f"_{len(atoms)}")
            atoms.append(_atom(token))
    return Expression(text, ast.parse(" ".join(signs), mode="eval").body, tuple(atoms))


def _tokens(text: str) -> Iterator[Token]:
    end = 0
    while text[end:].strip():
        match = _TOKEN.match(text, end)
        if match is None:
            start = len(text) - len(text[end:].lstrip())
            raise _expected("a number, a 'text', a name or a sign", Token("", text[start], start))
        kind, end = str(match.lastgroup), match.end()
        yield Token(kind, match[kind], match.start(kind))
    yield Token("end", "", len(text))


def _in_order(tokens: Iterator[Token]) -> Iterator[Token]:
    """Yield the tokens. Raises InvalidExpression at the first syntax error."""
    before, opened = "", list[str]()
    operand = True  # whether an operand is needed here, or an operator
    for token in tokens:
        sign = token.text if token.kind == "sign" else ""
        if operand:
            begins = sign in _CLOSED_BY or sign == "-" or (sign == "not" and before in _NEGATABLE)
            if token.kind == "end" or (sign and not begins):
                raise _expected("a number, a 'text' or a name", token)
            operand = bool(sign)
            opened += [sign] if sign in _CLOSED_BY else []
        elif opened and sign == _CLOSED_BY[opened[-1]]:
            opened.pop()
        elif token.kind != "end" or opened:
            operand = True
            if not sign or sign in ("(", ")", "[", "]", "not") or (sign == "," and opened[-1:] != ["["]):
                closing = f"'{_CLOSED_BY[opened[-1]]}'" if opened else "a comparison, and, or, or the end"
                raise _expected(closing, token)
        before = sign
        yield token


def _expected(what: str, token: Token) -> InvalidExpression:
    actual = f"found {token.text!r}" if token.text else "the text ends"
    return InvalidExpression(f"{what} is needed at character {token.start + 1}, but {actual}")


def _atom(token: Token) -> Path | Constant:
    if token.kind == "text":
        return token.text[1:-1]
    if token.kind == "name":
        return _TRUTHS.get(token.text, Path(token.text))
    value = float(token.text)
    return int(token.text) if token.text.isdigit() else int(value) if value.is_integer() else value


def _truth(value: Value) -> bool | None:
    if value is None or isinstance(value, bool):
        return value
    raise InvalidExpression(f"{value!r} is neither true nor false; compare it with something")


def _negated(truth: bool | None) -> bool | None:
    return None if truth is None else not truth


def _all(truths: list[bool | None]) -> bool | None:
    return False if False in truths else None if None in truths else True


def _compare(left: Value, sign: ast.cmpop, right: Value) -> bool | None:
    if left is None or right is None:
        return None
    if isinstance(sign, ast.In):
        if not isinstance(right, tuple):
            raise InvalidExpression("in needs a list, such as [1, 2]")
        return left in right
    if isinstance(sign, ast.Eq | ast.NotEq):
        return (left == right) == isinstance(sign, ast.Eq)
    written, order = _ORDERS[type(sign)]
    return order(_numeric(left, written), _numeric(right, written))


def _calculate(left: Value, sign: ast.operator, right: Value) -> Value:
    written, calculation = _CALCULATIONS[type(sign)]
    if left is None or right is None:
        return None
    try:
        return calculation(_numeric(left, written), _numeric(right, written))
    except (ZeroDivisionError, OverflowError):
        raise InvalidExpression(f"{left!r} {written} {right!r} has no value") from None


def _numeric(value: Value, sign: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidExpression(f"{value!r} is not a number, and {sign} needs one")
    return value
