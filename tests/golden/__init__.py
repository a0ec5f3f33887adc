"""Golden records: one whole match of each variant, as people read it, with everything that a seat could see pinned by digests.

A match is two files. `NAME.jsonl` is its trace: what is played. `NAME.txt` is what the package makes of it today: the rules and every event
in words with the reason, the boards before every turn, and before each decision and at the end what the AEC environment shows:

- `seen`: a digest for each seat, of its observation and action mask, byte for byte;
- `rewards`: of the last step, and since the own last action, where one is not 0;
- at the end, who is terminated and truncated.

`python -m tests.golden` plays the traces again and writes the texts anew; `--check` only compares, as the suite does; `--new` also
chooses new decisions. Whoever changes rules, words or observations sees in the difference of these files what has become of them.

Observations are digested as they are, without rounding: a rounded number still falls on one side or the other when its last bit differs.
They are computed in double precision by + - * / alone, in a fixed order, and compiled without fast-math, so that IEEE 754 fixes every
bit; and where a compiler fuses a multiplication with an addition all the same, single precision keeps the difference once in some hundred
million numbers. Decisions are drawn by Python's Mersenne Twister, which is the same everywhere, and not by the package's players: what
these files pin is the game, not how well somebody plays it.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np

from sixnimmt_env import sixnimmt_v0, traces
from sixnimmt_env.envs.aec import AECGameEnv
from sixnimmt_env.traces import Step, Trace

FOLDER: Final = Path(__file__).parent

_ROUND: Final[dict[str, Any]] = {"rounds": 1}

MATCHES: Final[dict[str, dict[str, Any]]] = {
    "standard-round": {"deck": "standard", "num_players": 4, **_ROUND},
    "standard-match": {"deck": "standard", "num_players": 2, "rounds": None, "target": 30},
    "standard-professional-round": {"deck": "standard", "professional": True, "num_players": 10, **_ROUND},
    "standard-professional-match": {"deck": "standard", "professional": True, "num_players": 3, "rounds": None, "target": 20},
    "tactical-round": {"deck": "tactical", "num_players": 9, **_ROUND},
    "tactical-match": {"deck": "tactical", "num_players": 4, "rounds": None, "target": 25, "exceed_target": True},
    "tactical-professional-round": {"deck": "tactical", "professional": True, "num_players": 6, **_ROUND},
    "tactical-professional-match": {"deck": "tactical", "professional": True, "num_players": 2, "rounds": 3},
    "logic-round": {"deck": "logic", "num_players": 5, **_ROUND},
    "logic-match": {"deck": "logic", "num_players": 3, "rounds": 2},
    "logic-professional-round": {"deck": "logic", "professional": True, "num_players": 7, **_ROUND},
    "logic-professional-match": {"deck": "logic", "professional": True, "num_players": 2, "rounds": None, "target": 30},
    "small": {"num_players": 3, "hand_size": 4, "num_rows": 2, "row_capacity": 2, "deck_size": 30, "rounds": 3},
}
"""The options of each match, by the name of its files."""


def played(name: str) -> Trace:
    """The match `name` with decisions drawn anew, the same each time: now and then the lowest, so that rows are chosen often."""
    dice = random.Random(name)
    env = sixnimmt_v0.env(**MATCHES[name])
    env.reset(seed=list(MATCHES).index(name))
    while not any(env.terminations.values()):
        legal = np.flatnonzero(env.infos[env.agent_selection]["action_mask"]).tolist()
        env.step(legal[0] if dice.random() < 0.2 else legal[int(dice.random() * len(legal))])
    return env.trace()


def loaded(name: str) -> Trace:
    """The recorded match `name`."""
    return traces.load(FOLDER / f"{name}.jsonl")


def text_of(trace: Trace) -> str:
    """The record of `trace` for people."""
    return "\n".join(_lines(trace)) + "\n"


def _lines(trace: Trace) -> Iterator[str]:
    env = AECGameEnv(trace.game, trace.rules, "golden")
    env.reset(seed=trace.seed)
    yield from trace.rules.describe().splitlines()
    yield f"Seed {trace.seed}, game {trace.number}. Trace: sha256 {hashlib.sha256(trace.to_bytes()).hexdigest()}"
    for step in trace.steps():
        yield from _heading(step)
        if step.is_decision:
            yield from _shown(env)
            assert env.agent_selection == f"player_{step.event['seat']}"
            env.step(step.event["action"])
        yield f"{step.number:>4}  {step.explain()}"
        yield from _hands(step)
    yield from _shown(env)
    yield ""
    yield step.board()
    yield f"\n{trace.outcome}; totals {' '.join(map(str, trace.totals))}; winners {' '.join(map(str, trace.winners))}"
    assert env.trace() == trace


def _heading(step: Step) -> Iterator[str]:
    if step.heading:
        yield f"\n--- {step.heading} ---"
        if step.is_decision:
            yield f"{step.board_before()}\n"


def _hands(step: Step) -> Iterator[str]:
    for seat, hand in enumerate(step.event.get("hands", ())):
        yield f"      player_{seat}: {' '.join(map(str, hand))}"


def _shown(env: AECGameEnv) -> Iterator[str]:
    """What the environment shows each seat now, in short digests."""
    observations = [env.observe(agent) for agent in env.possible_agents]
    yield "      seen " + " ".join(_digest(*(part.tobytes() for part in one.values())) for one in observations)
    rewards = [env.rewards, env._cumulative_rewards]
    if any(any(which.values()) for which in rewards):
        now, since = (" ".join(f"{which[agent] + 0:g}" for agent in env.possible_agents) for which in rewards)
        yield f"      rewards {now}; since the own action {since}"
    for name, which in (("terminated", env.terminations), ("truncated", env.truncations)):
        if any(which.values()):
            yield f"      {name} {' '.join(agent for agent in env.possible_agents if which[agent])}"


def _digest(*parts: bytes) -> str:
    return hashlib.sha256(b"".join(parts)).hexdigest()[:6]
