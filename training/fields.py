"""What a field of the configuration may hold: checks whose messages say what was wrong and the fix.

They run before pydantic's own, which would take text for numbers and name neither the value nor the fix.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from pydantic import BeforeValidator

from training.yaml_reader import Fault

MAX_SPEC: Final = 500  # as a quoted key it stays below YAML's limit of 1024 characters


class FaultsError(ValueError):
    """Raised by validators: the problems of one field, with where they are below it."""

    def __init__(self, *faults: Fault) -> None:
        super().__init__("; ".join(".".join((*fault.path, fault.problem)) if fault.path else fault.problem for fault in faults))
        self.faults: Final = faults


def refuse(problem: str) -> FaultsError:
    return FaultsError(Fault((), problem))


def number_problem(value: object, wanted: str) -> str:
    """`wanted`, and why `value` is no number where that is not plain to see."""
    if isinstance(value, bool):
        return f"{wanted}; true and false are no numbers"
    if isinstance(value, str):
        if value.lower() in ("none", "~"):
            return f"{wanted}; {value!r} is text (no value is written null)"
        quoted = re.fullmatch(r"[-+]?\.?\d[\d_.]*(e[-+]?\d+)?", value, re.IGNORECASE) is not None
        return f"{wanted}; {value!r} is text" + (": remove the quotes" if quoted else "")
    return wanted


def is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def as_whole(value: object) -> object:
    """An integral float such as 1e6 as the integer it means, anything else unchanged (beyond 2**53 a float has lost digits)."""
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) <= 2**53 else value


def whole(low: int, high: int, *, optional: bool = False) -> BeforeValidator:
    """A whole number in [low, high]; or None with `optional`."""

    def check(value: object) -> object:
        if value is None and optional:
            return None
        number = as_whole(value)
        if isinstance(number, bool) or not isinstance(number, int) or not low <= number <= high:
            raise refuse(number_problem(value, f"must be a whole number from {low:_} to {high:_}" + (", or null" if optional else "")))
        return number

    return BeforeValidator(check)


def real(low: float, high: float, *, above: bool = False, optional: bool = False) -> BeforeValidator:
    """A finite number in [low, high], or in (low, high] with `above`; or None with `optional`."""
    span = f"above {low:g} and at most {high:g}" if above else f"from {low:g} to {high:g}"

    def check(value: object) -> object:
        if value is None and optional:
            return None
        # NaN fails the comparison, infinity exceeds every bound.
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high or (above and value == low):
            raise refuse(number_problem(value, f"must be a number {span}" + (", or null" if optional else "")))
        return float(value)

    return BeforeValidator(check)


def truth(value: object) -> object:
    if not isinstance(value, bool):
        raise refuse("must be true or false, without quotes (YAML 1.2 knows no on, off, yes, no)")
    return value


def text(pattern: str, wanted: str) -> BeforeValidator:
    """Text that matches `pattern` completely."""

    def check(value: object) -> object:
        if not isinstance(value, str):
            raise refuse(f"must be {wanted}; this is not text: put it in quotes" if is_number(value) else f"must be {wanted}")
        if re.fullmatch(pattern, value) is None:
            raise refuse(f"must be {wanted}")
        return value

    return BeforeValidator(check)


def _spec_problem(spec: object) -> str:
    """What is wrong with `spec` as the text of an agent specification, "" if nothing; whether the agent exists is asked later."""
    if not isinstance(spec, str):
        return 'must be an agent such as greedy or "policy:runs/first"'
    if not spec.strip() or not spec.isprintable() or len(spec) > MAX_SPEC:
        return f"must be an agent such as greedy: 1 to {MAX_SPEC} printable characters"
    return ""


def one_agent(value: object) -> object:
    """Checks one agent, or None."""
    if value is not None and (problem := _spec_problem(value)):
        raise refuse(f"{problem}; or null")
    return value


def entrants(value: object) -> object:
    """Checks at least two agents, a list of them or {name: agent}, and gives {name: agent}; an agent of a list is called what it is."""
    if isinstance(value, Mapping):
        named = [((str(name),), name, spec) for name, spec in value.items()]
    elif isinstance(value, (list, tuple)):
        named = [((str(index),), spec, spec) for index, spec in enumerate(value)]
    else:
        raise refuse("must be a list of agents, such as [random, greedy], or a mapping of names to agents")
    faults = []
    for place, (path, name, spec) in enumerate(named):
        twice = any(other == name for _, other, _ in named[:place])
        problem = _spec_problem(spec) or ("is in the list twice: keep one, or give each a name, {one: agent, two: agent}" if twice else "")
        if not problem and not (isinstance(name, str) and name.strip() and name.isprintable() and len(name) <= MAX_SPEC):
            problem = "the name must be printable text"
        if problem:
            faults.append(Fault(path, problem))
    if not faults and len(named) < 2:
        raise refuse("must be at least two agents, such as [random, greedy]")
    if faults:
        raise FaultsError(*faults)
    return {name: spec for _, name, spec in named}


def mixture(value: object) -> object:
    """Checks {agent: weight}, a weight being a number or {start, end}."""
    if not isinstance(value, Mapping) or not value:
        raise refuse("must be a mapping of at least one agent to its weight, such as {greedy: 1, random: 1}")
    faults = []
    for spec, weight in value.items():
        if problem := _spec_problem(spec):
            faults.append(Fault((str(spec),), problem, "key"))
        elif isinstance(weight, Mapping) and weight and set(weight) <= {"start", "end"}:
            continue  # a schedule, which checks itself
        elif isinstance(weight, bool) or not isinstance(weight, (int, float)) or not 0 < weight <= 1e9:
            faults.append(Fault((spec,), _weight_problem(spec, weight)))
    if faults:
        raise FaultsError(*faults)
    return {spec: float(weight) if is_number(weight) else weight for spec, weight in value.items()}


def _weight_problem(spec: str, weight: object) -> str:
    wanted = number_problem(weight, "must be a number above 0 and at most 1e9")
    if weight is None and ":" in spec:
        return f"{wanted}: write a space after the colon that separates agent and weight"
    if weight == 0:
        return f"{wanted}: leave the agent out to play without it"
    if isinstance(weight, Mapping) or (isinstance(weight, str) and "=" in weight):
        return f"""{wanted}; an agent with "." or "=" in its name is set with all others: 'opponents={{"agent:key=1": 2}}'"""
    return wanted


def agents(value: object) -> object:
    """Checks a list of at least one agent."""
    if not isinstance(value, (list, tuple)) or not value:
        raise refuse("must be a list of at least one agent, such as [random, greedy]")
    return any_agents(value)


def any_agents(value: object) -> object:
    """Checks a list of agents, which may be empty."""
    if not isinstance(value, (list, tuple)):
        raise refuse('must be a list of agents, such as ["policy:runs/first"]')
    problems = [_spec_problem(spec) or ("is in the list twice: keep one" if spec in value[:i] else "") for i, spec in enumerate(value)]
    faults = [Fault((str(index),), problem) for index, problem in enumerate(problems) if problem]
    if faults:
        raise FaultsError(*faults)
    return tuple(value)
