"""Traces: the same match from every form, there and back through a file, and what is said about files that hold none."""

from __future__ import annotations

import copy
import gzip
import hashlib
import itertools
import json
import pickle
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sixnimmt_env import agents, games, sixnimmt_v0, traces
from sixnimmt_env.core.trace.file import MAX_LINE
from sixnimmt_env.core.trace.replay import due
from sixnimmt_env.envs.aec import AECGameEnv
from sixnimmt_env.games.sixnimmt import GAME, Rules, state
from sixnimmt_env.traces import Trace, TraceError
from tests.games.sixnimmt.playing import KINDS, SMALL, VARIANTS, content, name_of

MATCHES = [Rules(num_players=3, deck=deck, professional=professional, rounds=None, target=20) for deck, professional in KINDS]
TINY = Rules(num_players=3, hand_size=3, num_rows=2, row_capacity=2, rounds=2)


def recorded(rules: Rules, seed: int = 0) -> Trace:
    return traces.record(GAME, rules, [agents.make("uniform")], seed)


def again(trace: Trace) -> Trace:
    """The trace, written and read."""
    return Trace.from_bytes(trace.to_bytes(), GAME)


def same_file(one: Trace, other: Trace) -> bool:
    return one == other and one.to_bytes() == other.to_bytes()


# --- round trips ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rules", [*VARIANTS, *SMALL, *MATCHES], ids=name_of)
def test_there_and_back(rules: Rules) -> None:
    trace = recorded(rules, seed=3)
    assert same_file(again(trace), trace)
    assert again(trace).players == trace.players == ("uniform",) * rules.num_players
    trace.verify()
    lines = trace.to_bytes().decode().splitlines()
    assert [json.loads(line) for line in lines[1:-1]] == list(trace) == [trace[number] for number in range(len(trace))]
    assert json.loads(lines[-1])["events"] == len(trace)
    assert trace.outcome == "finished"
    assert (list(trace.totals), list(trace.winners)) == (trace[-1]["totals"], trace[-1]["winners"])


def test_a_file_is_saved_and_found_by_the_name_of_its_game(tmp_path: Path) -> None:
    trace, path = recorded(TINY), tmp_path / "game.jsonl"
    trace.save(path)
    assert path.read_bytes() == trace.to_bytes()
    assert same_file(traces.load(path), trace)
    assert [entry.name for entry in tmp_path.iterdir()] == ["game.jsonl"]
    with pytest.raises(FileNotFoundError):
        traces.load(tmp_path / "none.jsonl")
    with pytest.raises(FileNotFoundError):
        trace.save(tmp_path / "no" / "game.jsonl")


@pytest.mark.parametrize("rules", [TINY, Rules(num_players=2, deck="logic", professional=True, hand_size=3)], ids=name_of)
def test_a_match_can_be_left_at_any_decision(rules: Rules) -> None:
    whole = recorded(rules)
    for count in range(len(whole.decisions)):
        part = Trace(GAME, rules, whole.decisions[:count])
        assert part.outcome == "unfinished"
        assert part.winners == ()
        assert part.events == whole.events[: len(part)]
        assert same_file(again(part), part)
        cut = Trace(GAME, rules, whole.decisions[:count], truncated=True)
        forfeited = Trace(GAME, rules, whole.decisions[:count], offenders=(0, 1))
        for ended, outcome in ((cut, "truncated"), (forfeited, "abandoned")):
            assert (ended.outcome, ended.winners, len(ended)) == (outcome, (), len(part) + 1)
            assert same_file(again(ended), ended)
            assert ended != part
        more = [rules.forfeit * (seat < 2) for seat in range(rules.num_players)]
        assert list(forfeited.totals) == [total + extra for total, extra in zip(part.totals, more, strict=True)]


def test_copies_and_pickles() -> None:
    trace = recorded(TINY)
    for other in (copy.copy(trace), copy.deepcopy(trace), pickle.loads(pickle.dumps(trace))):
        assert same_file(other, trace)
        assert hash(other) == hash(trace)
    with pytest.raises(TraceError) as raised:
        Trace.from_bytes(b"", GAME, "game.jsonl")
    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)
    assert repr(trace) == f"<trace of sixnimmt: 3 players, seed 0, {len(trace)} events, finished>"


def test_names_and_version_are_labels() -> None:
    trace = recorded(TINY)
    other = Trace(GAME, TINY, trace.decisions, players=("Ann", "Bö", "C"), package="0.0.1")
    assert other == trace
    assert again(other).players == ("Ann", "Bö", "C")
    assert again(other).package == "0.0.1"
    assert other != recorded(TINY, seed=1)


# --- the environments ----------------------------------------------------------------------------------------------------


def fields(view: np.void) -> Any:
    """The bytes of a view without what lies between its fields."""
    return content(np.array([view], dtype=GAME.view_dtype))


def in_turns(env: AECGameEnv, trace: Trace, check: Callable[[int], None] = lambda number: None) -> None:
    """Play the decisions of `trace` in `env`."""
    env.reset(seed=trace.seed)
    for number, (seat, action) in enumerate(trace.decisions):
        check(number)
        assert env.agent_selection == f"player_{seat}"
        env.step(action)


def together(trace: Trace, **options: Any) -> Any:
    """The parallel form after the decisions of `trace`."""
    env = sixnimmt_v0.parallel_env(**options)
    env.reset(seed=trace.seed)
    left = list(trace.decisions)
    while left and env.agents:
        actions = dict.fromkeys(env.agents, GAME.wait)
        for seat in due(GAME, env._states):
            actions[f"player_{seat}"] = left.pop(0)[1]
        env.step(actions)
    return env


def options_of(rules: Rules) -> dict[str, Any]:
    return {name: getattr(rules, name) for name in Rules.__dataclass_fields__}


@pytest.mark.parametrize("rules", [*VARIANTS[::3], *MATCHES, *SMALL[::5]], ids=name_of)
def test_every_form_tells_the_same_match(rules: Rules) -> None:
    env = sixnimmt_v0.gym_env(**options_of(rules), opponents=["random"])
    observation, _ = env.reset(seed=5)
    rng, over, parts = np.random.default_rng(0), False, []
    while not over:
        parts.append(env.trace())
        observation, _, over, _, _ = env.step(int(rng.choice(np.flatnonzero(observation["action_mask"]))))
    trace = env.trace()
    own = env.unwrapped._games.outside[0]
    assert trace.players == tuple("own" if seat == own else "random" for seat in range(rules.num_players))
    assert all(part.events == trace.events[: len(part)] for part in parts[:3])
    turns = sixnimmt_v0.env(**options_of(rules))
    in_turns(turns, trace)
    assert turns.trace() == trace == together(trace, **options_of(rules)).trace()
    assert turns.trace(["a"] * rules.num_players).players == ("a",) * rules.num_players
    env.reset()
    assert (env.trace().seed, env.trace().number > 0, env.trace().outcome) == (5, True, "unfinished")


@pytest.mark.parametrize("rules", MATCHES[::2], ids=name_of)
def test_agents_of_any_kind_are_recorded(rules: Rules) -> None:
    """Opponents that are asked outside compiled code, one a seat, and their illegal actions are no decisions."""

    class Lowest(agents.Agent):
        def _act(self, views: Any) -> Any:
            masks = np.zeros((len(views), GAME.num_actions), dtype=np.int8)
            GAME.legal(views, masks)
            return masks.argmax(axis=1)

    env = sixnimmt_v0.gym_env(**options_of(rules), opponents=[Lowest(GAME, "lo\nw"), "greedy"], seat=1)
    env.reset(seed=1)
    while not env.step(int(env.action_masks().argmax()))[2]:
        pass
    trace = env.trace()
    assert trace.players == ("greedy", "own", "lo?w")
    trace.verify()
    assert trace == traces.record(GAME, rules, [agents.make("greedy", seed=1), Lowest(GAME, "a"), Lowest(GAME, "b")], seed=1)


@pytest.mark.parametrize("place", [0, 1, 4, 7, 11])
def test_a_forfeited_match(place: int) -> None:
    rules = Rules(num_players=3, deck="logic", professional=True, hand_size=2, num_rows=2)
    whole = recorded(rules)
    trace = Trace(GAME, rules, whole.decisions[:place])
    env = sixnimmt_v0.env(**options_of(rules), illegal_action="terminate")
    in_turns(env, trace)
    seat = int(env.agent_selection.removeprefix("player_"))
    env.step(GAME.wait)
    found = env.trace()
    assert found == Trace(GAME, rules, trace.decisions, offenders=(seat,))
    assert found[-1] == {"event": "abandoned", "seats": [seat], "forfeit": rules.forfeit}
    assert found.step(-1).tell() == f"an illegal action ends the match: player_{seat} pays {rules.forfeit}"
    assert same_file(again(found), found)
    found.verify()
    env.reset(seed=0)
    assert env.trace().outcome == "unfinished"


def test_forfeits_of_several_seats_and_of_one_against_agents() -> None:
    env = sixnimmt_v0.parallel_env(num_players=3, illegal_action="terminate")
    env.reset(seed=2)
    env.step({"player_0": 112, "player_1": int(env._masks[1].argmax()), "player_2": -1})
    assert env.trace() == Trace(GAME, Rules(num_players=3), (), 2, offenders=(0, 2))
    assert env.trace().step(-1).explain() == "an illegal action ends the match: player_0 and player_2 pay 171"
    single = sixnimmt_v0.gym_env(num_players=3, illegal_action="terminate", opponents=["lowest"], seat=2)
    single.reset(seed=2)
    single.step(int(single.action_masks().argmax()))
    single.step(112)
    assert single.trace().offenders == (2,)
    assert same_file(again(single.trace()), single.trace())
    single.reset(seed=2)
    assert single.trace().outcome == "unfinished"


def test_a_match_cut_short() -> None:
    whole = recorded(Rules())
    env = sixnimmt_v0.env(max_cycles=3)
    env.reset(seed=0)
    for _, action in whole.decisions:
        if any(env.truncations.values()):
            break
        env.step(action)
    found = env.trace()
    assert found.outcome == "truncated"
    assert found == together(whole, max_cycles=3).trace()
    assert found.step(-1).tell() == "the match is cut short"
    assert same_file(again(found), found)


def test_nothing_is_traced_before_a_match_has_begun() -> None:
    for make in (sixnimmt_v0.env, sixnimmt_v0.parallel_env, sixnimmt_v0.gym_env):
        with pytest.raises(RuntimeError, match=r"call reset\(\) before trace\(\)"):
            make().trace()


# --- stepping through ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rules", MATCHES, ids=name_of)
def test_steps_show_what_the_environment_shows(rules: Rules) -> None:
    """Before each decision every seat's view is the environment's, and each step starts where the one before it ended."""
    trace, env = recorded(rules), AECGameEnv(GAME, rules, "test")
    steps = list(trace.steps())
    decisions = [step for step in steps if step.is_decision]

    def check(number: int) -> None:
        for seat, agent in enumerate(env.possible_agents):
            assert np.array_equal(fields(decisions[number].view_before(seat)), fields(env.view(agent)))

    in_turns(env, trace, check)
    assert [step.event for step in steps] == list(trace)
    assert [step.number for step in steps] == list(range(len(trace)))
    for one, other in itertools.pairwise(steps):
        assert other.is_decision or (one.after == other.before).all()
    assert [step.explain() for step in steps] == trace.explain().splitlines()
    assert list(trace.boards()) == [step.board() for step in steps]
    assert trace.explain(len(trace) - 1) == trace.explain(-1) == steps[-1].explain()
    assert trace[-2:] == trace.events[-2:]
    headings = [step.heading for step in steps if step.heading]
    rounds = [step.event["round"] + 1 for step in steps if step.event["event"] == "round_ended"]
    turns = [[f"round {number}", *(f"round {number}, turn {turn + 1}" for turn in range(10))] for number in rounds]
    assert headings == list(itertools.chain(*turns))
    with pytest.raises(IndexError):
        trace.step(len(trace))


def test_spectators_see_all_hands_and_decide_nothing() -> None:
    step = recorded(Rules(num_players=2)).step(1)
    assert step.view()["open"]
    assert not step.view()["deciding"]
    assert step.board().count("hand of") == 2
    assert step.board(1).count("hand of") == 1
    assert step.board_before(0).count(">") == 1 > step.board(0).count(">")


# --- what is refused -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "piece"),
    [
        ({"decisions": [(0, 112)]}, r"decision 0: action 112 \(wait\) is illegal for seat 0 now; legal are \d+ \(card"),
        ({"decisions": [(1, 5)]}, "decision 0: seat 0 decides now, not 1, in ascending order"),
        ({"decisions": [(7, 5)]}, "decision 0: seat 0 decides now, not 7"),
        ({"decisions": [(0, 10**30)]}, "decision 0: 1000+ is no action"),
        ({"decisions": [*recorded(TINY).decisions, (0, 1)]}, r"decision \d+: the match is over, and nobody decides"),
        ({"decisions": recorded(TINY).decisions, "truncated": True}, "the match is over, and cannot be cut short"),
        ({"decisions": recorded(TINY).decisions, "offenders": (0,)}, "the match is over, and nobody can forfeit it"),
        ({"offenders": (1, 0)}, r"seats from 0 to 2 in ascending order, not \[1, 0\]"),
        ({"offenders": (3,)}, "seats from 0 to 2"),
        ({"offenders": (1,), "truncated": True}, "exclude each other"),
        ({"seed": -1}, "seed=-1 must be"),
        ({"number": 2**63}, "must be a whole number"),
        ({"players": ("a", "b")}, "2 names for 3 players"),
        ({"players": ("a", "b", "c\x1b[2J")}, "printable and on one line"),
        ({"package": ""}, "package"),
    ],
)
def test_no_match(arguments: dict[str, Any], piece: str) -> None:
    with pytest.raises(ValueError, match=piece):
        Trace(GAME, TINY, **arguments)


def test_agents_that_do_not_fit() -> None:
    class Waits(agents.Agent):
        def _act(self, views: Any) -> Any:
            return np.full(len(views), GAME.wait)

    with pytest.raises(ValueError, match=r"agent 'waits' chose 112 \(wait\) in seat 2, which is illegal"):
        traces.record(GAME, TINY, [Waits(GAME, "waits")])
    with pytest.raises(ValueError, match="2 agents for 3 players"):
        traces.record(GAME, TINY, [agents.make("random")] * 2)


LINES = recorded(TINY).to_bytes().decode().splitlines()


def changed(line: int, old: str, new: str) -> list[str]:
    """The lines with a piece of one replaced; lines count from 1, from the end if negative."""
    lines = LINES.copy()
    place = line - 1 if line > 0 else line
    assert old in lines[place]
    lines[place] = lines[place].replace(old, new, 1)
    return lines


def sealed(lines: list[str]) -> list[str]:
    """The lines with the end line that fits them: so that only the rules can tell that something is wrong."""
    body = "".join(f"{line}\n" for line in lines[:-1])
    return [*lines[:-1], json.dumps({"event": "end", "events": len(lines) - 2, "digest": hashlib.sha256(body.encode()).hexdigest()})]


def at(event: str) -> int:
    """The number of the first line of that kind."""
    return next(number for number, line in enumerate(LINES, 1) if f'"event": "{event}"' in line)


def without(line: int) -> list[str]:
    return [*LINES[: line - 1], *LINES[line:]]


LAST = len(LINES)
TOOK = at("took")
ABANDONED = '{"event": "abandoned", "seats": [1], "forfeit": 171}'

# what is wrong, the lines, the line that is named, a piece of the message
DAMAGE: list[tuple[str, list[str], int, str]] = [
    ("no JSON", changed(2, "{", "("), 2, "this is no JSON, at column 1"),
    ("a list", changed(1, LINES[0], "[]"), 1, "an object, {...}, must stand here, not []"),
    ("a number", changed(3, LINES[2], "7"), 3, "must stand here, not 7"),
    ("a field twice", changed(3, "{", '{"seat": 0, '), 3, 'the field "seat" stands twice'),
    ("a fraction", changed(3, '"seat": 0', '"seat": 0.0'), 3, "the number 0.0 is not a whole one"),
    ("no number", changed(3, '"seat": 0', '"seat": NaN'), 3, "the number NaN is not a whole one"),
    ("true for 1", changed(4, '"seat": 1', '"seat": true'), 4, "seat 1 decides now, not True"),
    ("thousands of digits", changed(3, '"seat": 0', f'"seat": {"1" * 5000}'), 3, "a number has thousands of digits"),
    ("a huge action", changed(3, '"action": ', f'"action": {"1" * 200}'), 3, "is no action for seat 0 now"),
    ("nested", changed(3, LINES[2], "[" * 30_000 + "]" * 30_000), 3, "the line is nested too deeply"),
    ("nested in a field", changed(5, "{", '{"x": ' + "[" * 900 + "]" * 900 + ", "), 5, "must"),
    ("nested open", changed(3, LINES[2], '{"a":' * 10_000), 3, "line"),
    ("long", changed(3, "{", "{" + " " * MAX_LINE), 3, "longer than 65,536 bytes"),
    ("carriage returns", [f"{line}\r" for line in LINES], 1, "ends with a carriage return"),
    ("mark", changed(1, "{", "\ufeff{"), 1, "byte-order mark"),
    ("empty line", [*LINES[:4], "", *LINES[4:]], 5, "this is no JSON"),
    ("foreign", ['{"name": "x"}'], 1, "this is no header of a trace"),
    ("no header", LINES[1:], 1, "this is no header of a trace"),
    ("newer", changed(1, '"trace": 1', '"trace": 2'), 1, "the format is trace=2, and version 1 is read here: update"),
    ("version true", changed(1, '"trace": 1', '"trace": true'), 1, "must be a whole number, the version"),
    ("other game", changed(1, '"sixnimmt"', '"sixnimt"'), 1, "'sixnimmt'"),
    ("game no name", changed(1, '"sixnimmt"', "[1]"), 1, "game=[1] must be the name of a game"),
    ("header unknown", changed(1, '"seed"', '"sed"'), 1, 'the field "sed" is unknown: did you mean "seed"?'),
    ("header short", changed(1, '"number": 0, ', ""), 1, 'the field "number" is missing'),
    ("rules unknown", changed(1, '"deck":', '"desk":'), 1, 'rules: the field "desk" is unknown: did you mean "deck"?'),
    ("rules short", changed(1, '"deck": "standard", ', ""), 1, 'rules: the field "deck" is missing'),
    ("rules no object", changed(1, '"rules": {', '"rules": 3, "was": {'), 1, '"was" is unknown'),
    ("rules impossible", changed(1, '"num_players": 3', '"num_players": 11'), 1, "num_players=11 must be a whole number from 2 to 10"),
    ("rules true", changed(1, '"hand_size": 3', '"hand_size": true'), 1, "hand_size=True must be"),
    ("rules nested", changed(1, '"deck": "standard"', '"deck": [{}]'), 1, "is unknown: choose one of"),
    ("rules 1 for true", changed(1, '"professional": false', '"professional": 0'), 1, "professional=0 must be True or False"),
    ("seed", changed(1, '"seed": 0', '"seed": -1'), 1, "seed=-1 must be a whole number from 0"),
    ("seed huge", changed(1, '"seed": 0', f'"seed": {2**63}'), 1, "must be a whole number from 0"),
    ("seed text", changed(1, '"seed": 0', '"seed": "0"'), 1, 'seed="0" must be'),
    ("other seed", changed(1, '"seed": 0', '"seed": 1'), 2, '"hands" is'),
    ("other number", changed(1, '"number": 0', '"number": 1'), 2, '"hands" is'),
    ("players", changed(1, '["uniform", ', "["), 1, "must be a list of 3 names"),
    ("players text", changed(1, '["uniform", "uniform", "uniform"]', '"abc"'), 1, "must be a list of 3 names"),
    ("player number", changed(1, '["uniform"', "[1"), 1, "a player=1 must be a text"),
    ("player escape", changed(1, '["uniform"', '["\\u001b[2J"'), 1, "printable"),
    ("player surrogate", changed(1, '["uniform"', '["\\ud800"'), 1, "printable"),
    ("player long", changed(1, '["uniform"', f'["{"x" * 201}"'), 1, "1 to 200 characters"),
    ("version no text", changed(1, '"package": "', '"package": 1, "x": "'), 1, '"x" is unknown'),
    ("illegal", changed(3, '"action": ', '"action": 1'), 3, "legal are"),
    ("other card", changed(3, '"card": ', '"card": 1'), 3, '"card" is'),
    ("decision missing", without(3), 3, "seat 0 decides now, not 1, in ascending order"),
    ("decision extra", changed(3, '"card"', '"x": 1, "card"'), 3, "here stands"),
    (
        "no decision",
        [*LINES[:2], LINES[at("revealed") - 1], *LINES[2:]],
        3,
        'a decision of seat 0 must stand here, with "seat" and "action"',
    ),
    ("order", [*LINES[:2], LINES[3], LINES[2], *LINES[4:]], 3, "seat 0 decides now, not 1"),
    ("event missing", without(at("revealed")), at("revealed"), "and must stand"),
    ("event twice", [*LINES[: TOOK - 1], *LINES[TOOK - 2 :]], TOOK, "and must stand"),
    ("heads", changed(TOOK, '"heads": ', '"heads": 1'), TOOK, '"heads" is 1'),
    ("row", changed(TOOK, '"row": ', '"row": 9'), TOOK, '"row" is 9'),
    ("why", changed(TOOK, '"why": "', '"why": "un'), TOOK, '"why" is "un'),
    ("spacing", changed(TOOK, ", ", ","), TOOK, "this is not written as here"),
    ("key order", changed(3, '"event": "picked", "seat": 0', '"seat": 0, "event": "picked"'), 3, "this is not written as here"),
    ("escapes", changed(3, "picked", "p\\u0069cked"), 3, "this is not written as here"),
    ("cut off", LINES[:9], 10, 'the file ends here, before the end line {"event": "end", ...}: it was cut off'),
    ("cut to the header", LINES[:1], 2, "it was cut off"),
    ("end early", [*LINES[:9], LINES[-1]], 10, "and there are 8 above: lines were removed or added"),
    ("end count", changed(-1, '"events": ', '"events": 1'), LAST, '"events" is 1'),
    ("end short", changed(-1, '"digest"', '"digst"'), LAST, 'the field "digst" is unknown: did you mean "digest"?'),
    ("digest", changed(-1, '"digest": "', '"digest": "f'), LAST, "the digest is"),
    ("name", changed(1, "uniform", "greedy"), LAST, "the names of the players or the version in the header were changed"),
    ("package", changed(1, '"package": "', '"package": "9'), LAST, "the version in the header"),
    ("more", [*LINES, "{}"], LAST + 1, "nothing may follow the end line"),
    ("empty line at the end", [*LINES, ""], LAST + 1, "nothing may follow the end line"),
    ("after the match", [*LINES[:-1], LINES[2], LINES[-1]], LAST, "nothing can happen any more, so the end line"),
    ("forfeited after the match", [*LINES[:-1], ABANDONED, LINES[-1]], LAST, "nothing can happen any more"),
    ("played on after a forfeit", sealed([*LINES[:2], ABANDONED, *LINES[2:]]), 4, "nothing can happen any more"),
    ("another forfeit", sealed([*LINES[:2], ABANDONED.replace("171", "17"), LINES[-1]]), 3, '"forfeit" is 17 and must be 171'),
    ("cut short twice", sealed([*LINES[:2], *['{"event": "truncated"}'] * 2, LINES[-1]]), 4, "nothing can happen any more"),
    ("played on after the cut", sealed([*LINES[:2], '{"event": "truncated"}', *LINES[2:]]), 4, "nothing can happen any more"),
    ("nobody forfeits", sealed([*LINES[:2], '{"event": "abandoned", "seats": [], "forfeit": 171}', LINES[-1]]), 3, "not []"),
    ("all forfeit", sealed([*LINES[:2], '{"event": "abandoned", "seats": 3, "forfeit": 171}', LINES[-1]]), 3, "a list of seats"),
    ("who forfeits", sealed([*LINES[:2], '{"event": "abandoned", "seats": [true], "forfeit": 171}', LINES[-1]]), 3, "[True]"),
]


@pytest.mark.parametrize(("lines", "line", "piece"), [case[1:] for case in DAMAGE], ids=[case[0] for case in DAMAGE])
def test_damage_is_named_with_its_line(lines: list[str], line: int, piece: str) -> None:
    data = "".join(f"{one}\n" for one in lines).encode()
    for finder in (GAME, games.get):
        with pytest.raises(TraceError) as raised:
            Trace.from_bytes(data, finder, "game.jsonl")
        message = str(raised.value)
        assert message.startswith(f"game.jsonl, line {line}: ")
        assert piece in message
        assert len(message) < 1000
        assert message.isprintable()
        assert raised.value.line == line


def test_seals_fit_what_is_right() -> None:
    assert sealed(LINES) == LINES
    assert len({case[0] for case in DAMAGE}) == len(DAMAGE)


@pytest.mark.parametrize(
    ("data", "piece"),
    [
        (b"", "game.jsonl, line 1: the file is empty"),
        (b"\n", "game.jsonl, line 1: this is no JSON"),
        (b"\0" * 100, "game.jsonl, line 1: "),
        (b"\0" * 100_000, "game.jsonl, line 1: the line is longer"),
        ("\n".join(LINES).encode("utf-16"), "game.jsonl, line 1: byte 1 (0xff) is not UTF-8"),
        (gzip.compress("\n".join(LINES).encode()), "game.jsonl, line 1: byte 2 (0x8b) is not UTF-8"),
        ("\n".join(LINES).encode(), f"game.jsonl, line {LAST}: the line has no line feed at its end"),
        (b'{"a": 1}', "game.jsonl, line 1: the line has no line feed at its end"),
        (b"hello", "game.jsonl, line 1: this is no JSON"),
        ("\n".join(LINES).encode() + b"\nx", f"game.jsonl, line {LAST + 1}: nothing may follow"),
    ],
)
def test_files_of_another_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: bytes, piece: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("game.jsonl").write_bytes(data)
    with pytest.raises(TraceError) as raised:
        traces.load("game.jsonl")
    assert str(raised.value).startswith(piece)


def test_a_folder_is_no_trace(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="this is a folder; name a file") as raised:
        traces.load(tmp_path)
    assert raised.value.line is None


def test_another_version_is_mentioned_where_the_rules_differ() -> None:
    lines = recorded(TINY).to_bytes().decode().replace(f'"package": "{recorded(TINY).package}"', '"package": "0.0.1"').splitlines()
    lines[TOOK - 1] = lines[TOOK - 1].replace('"heads": ', '"heads": 1')
    with pytest.raises(TraceError, match=r"written by version 0\.0\.1, this is "):
        Trace.from_bytes("\n".join(lines).encode(), GAME)


# --- fuzz ----------------------------------------------------------------------------------------------------------------


def mutants(data: bytes, rng: random.Random) -> Iterator[bytes]:
    """Damaged versions of a file, one after the other, without end."""
    lines = data.splitlines(keepends=True)
    while True:
        place, other = rng.randrange(len(lines)), rng.randrange(len(lines))
        some = lines.copy()
        kind = rng.randrange(9)
        if kind == 0:
            at = rng.randrange(len(data))
            yield data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]
        elif kind == 1:
            yield data[: rng.randrange(len(data))]
        elif kind == 2:
            at = rng.randrange(len(data))
            yield data[:at] + bytes(rng.randrange(256) for _ in range(rng.randrange(1, 4))) + data[at:]
        elif kind == 3:
            at = rng.randrange(len(data))
            yield data[:at] + data[at + rng.randrange(1, 20) :]
        else:
            if kind == 4:
                del some[place]
            elif kind == 5:
                some.insert(place, some[other])
            elif kind == 6:
                some[place], some[other] = some[other], some[place]
            elif kind == 7:
                some[place] = _with_another_number(some[place], rng)
            else:
                some[place] = _with_another_value(some[place], rng)
            # Sealed anew, so that only the rules can tell.
            yield (
                "".join(f"{line}\n" for line in sealed(b"".join(some).decode().splitlines())).encode()
                if rng.random() < 0.7
                else b"".join(some)
            )


def _with_another_number(line: bytes, rng: random.Random) -> bytes:
    digits = [at for at, sign in enumerate(line) if chr(sign).isdigit()]
    at = rng.choice(digits or [0])
    return line[:at] + str(rng.choice([0, 1, 2, 9, 55, 112, 2**64])).encode() + line[at + 1 :]


def _with_another_value(line: bytes, rng: random.Random) -> bytes:
    entry = json.loads(line)
    name = rng.choice(list(entry))
    entry[name] = rng.choice([None, True, -1, 0, 1, 10**40, "", "end", "picked", [], [0], [[1]], {}, {"a": []}, entry[name]])
    if rng.random() < 0.2:
        entry.pop(rng.choice(list(entry)))
    return json.dumps(entry).encode() + b"\n"


def read_or_refused(data: bytes) -> Trace | TraceError:
    """What comes of reading it; every other error is one of the reader's."""
    try:
        return Trace.from_bytes(data, games.get, "game.jsonl")
    except TraceError as error:
        return error


def fuzz(trace: Trace, seed: int, count: int) -> int:
    """Read `count` damaged versions of the file; returns how many are traces all the same, of another match or with other names."""
    data, accepted = trace.to_bytes(), 0
    for mutant in itertools.islice(mutants(data, random.Random(seed)), count):
        found = read_or_refused(mutant)
        if isinstance(found, TraceError):
            assert found.line is not None
            assert 1 <= found.line <= mutant.count(b"\n") + 1
            assert str(found).startswith(f"game.jsonl, line {found.line}: ")
        else:
            assert found.to_bytes() == mutant
            accepted += mutant != data
    return accepted


FUZZED = [TINY, Rules(num_players=2, deck="logic", professional=True, hand_size=3, num_rows=2)]


@pytest.mark.parametrize("rules", FUZZED, ids=name_of)
def test_damaged_files_are_refused_whatever_the_damage(rules: Rules) -> None:
    """A file is read only if it is, byte for byte, what the trace that was read writes; everything else is a `TraceError`."""
    assert fuzz(recorded(rules), 0, 1_500) < 75


@pytest.mark.slow
@pytest.mark.parametrize("rules", [*FUZZED, *SMALL, *MATCHES], ids=name_of)
def test_damaged_files_are_refused_whatever_the_damage_at_length(rules: Rules) -> None:
    fuzz(recorded(rules, seed=1), 1, 600)


def test_a_state_is_copied_and_never_shared() -> None:
    steps = list(recorded(TINY).steps())
    assert steps[0].before.dtype == state.STATE
    steps[3].after["table"]["turn"] = 9
    assert recorded(TINY).step(3).after["table"]["turn"][0] != 9
