"""What stands after the colon of an agent's name: "key=value,key=value"."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Option:
    """One option of an agent.

    Args:
        name: the key.
        kind: int, float or str.
        default: its value where it is not given.
        meaning: one phrase.
        least, most: bounds of a number, both included.
    """

    name: str
    kind: type
    default: Any
    meaning: str
    least: float | None = None
    most: float | None = None


def read(agent: str, argument: str, options: Sequence[Option]) -> dict[str, Any]:
    """The values of all `options`: those in `argument`, else the defaults. `ValueError` for what does not fit, with what would."""
    known = {option.name: option for option in options}
    given: dict[str, Any] = {}
    for part in argument.split(",") if argument else []:
        key, sign, text = (piece.strip() for piece in part.partition("="))
        if not sign or key not in known:
            close = difflib.get_close_matches(key, known, n=1)
            hint = f"did you mean {close[0]!r}? " if close else ""
            takes = ", ".join(f"{option.name}={_example(option)}" for option in options)
            raise ValueError(f"agent {agent!r} does not take {part!r}: {hint}it takes {takes}, separated by commas")
        if key in given:
            raise ValueError(f"agent {agent!r} is given {key} twice")
        given[key] = _value(agent, known[key], text)
    return {option.name: given.get(option.name, option.default) for option in options}


def check(agent: str, options: Sequence[Option], **given: Any) -> None:
    """`ValueError` for numbers given in Python that their options would not take as text."""
    for option in options:
        value = given.get(option.name, option.default)
        if option.kind is str or (value is None and option.default is None):
            continue
        kinds = (int, np.integer) if option.kind is int else (int, float, np.integer, np.floating)
        if isinstance(value, bool) or not isinstance(value, kinds) or not _inside(option, value):
            raise _unfit(agent, option, repr(value))


def _inside(option: Option, value: Any) -> bool:
    """Whether a number is within the bounds; nan is not."""
    return bool((option.least or 0) <= value <= (option.most or float("inf")))


def _unfit(agent: str, option: Option, text: str) -> ValueError:
    what = {int: "a whole number", float: "a number", str: "a word"}[option.kind]
    bounds = f" from {option.least:g} to {option.most:g}" if option.least is not None and option.most is not None else ""
    return ValueError(f"agent {agent!r}: {option.name}={text} must be {what}{bounds} ({option.meaning})")


def _value(agent: str, option: Option, text: str) -> Any:
    try:
        value = option.kind(text)
    except ValueError:
        value = None
    inside = value is not None and (option.kind is str or _inside(option, value))
    if not inside or text == "":
        raise _unfit(agent, option, text)
    return value


def _example(option: Option) -> str:
    return str(option.default) if option.default is not None else f"({option.meaning})"
