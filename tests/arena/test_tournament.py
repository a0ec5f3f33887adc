"""Tournaments: the same games as one by one, for any number of processes and after any interruption, and nothing twice."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sixnimmt_env import agents, arena
from sixnimmt_env.agents import Agent
from sixnimmt_env.arena import Entrant, Plan, Played, Progress, UntilDecided, WorkerDied, against_field, hold, play
from sixnimmt_env.arena import tournament as module
from sixnimmt_env.games.sixnimmt import GAME, Rules
from tests.arena.toys import FAULTS, make, make_broken, make_mended, plan

REPOSITORY = Path(__file__).parents[2]
FOUR = ["random", "greedy", "highest", "closest"]


def same(one: Played, other: Played) -> bool:
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in ("costs", "illegal", "decisions"))


class Told:
    """What a tournament says of its progress."""

    def __init__(self) -> None:
        self.begun: list[tuple[int, int]] = []
        self.games: list[int] = []
        self.progress = Progress(lambda before, total: self.begun.append((before, total)), self.games.append)


# --- what is played ----------------------------------------------------------------------------------------------------

VARIANTS = [Rules(4), Rules(3, "tactical", rounds=2), Rules(5, "logic", True), Rules(4, rounds=None, target=30), Rules(10)]


@pytest.mark.parametrize("rules", VARIANTS, ids=lambda rules: f"{rules.num_players} {rules.deck}")
def test_the_games_are_those_of_play(rules: Rules) -> None:
    """One round or whole matches, any field; chunks make no difference."""
    schedule = arena.round_robin(4, rules.num_players, most=20)
    told = Told()
    played = hold(plan(schedule, *FOUR, deals=7, rules=rules, seed=3, chunk_games=2 * schedule.games), progress=told.progress)
    team = [agents.make(spec, seed=number + 1) for number, spec in enumerate(FOUR)]
    games = play(GAME, rules, team, np.tile(schedule.seating, (7, 1)), np.repeat(np.arange(7), schedule.games), 3)
    assert (played.costs.reshape(games.costs.shape) == games.costs).all()
    assert played.decisions.tolist() == games.decisions.tolist()
    assert (played.seconds > 0).all()
    assert played.stopped == ""
    assert told.begun == [(0, 7 * schedule.games)]
    assert sum(told.games) == 7 * schedule.games


def test_one_against_a_field_is_what_evaluation_says() -> None:
    """Bit by bit the figures of `sixnimmt evaluate`."""
    played = hold(plan(arena.one_vs_field(2, 4), "greedy", "random", deals=200, seed=9))
    strength = against_field(GAME, Rules(), agents.make("greedy", seed=1), agents.make("random", seed=2), 800, seed=9)
    found = arena.summarise(played, fits=10).standings[0]
    assert (found.name, found.heads.mean, found.wins.mean) == ("greedy.0", pytest.approx(strength.mean), pytest.approx(strength.win_share))
    assert (found.heads.se, found.wins.se) == (pytest.approx(strength.se), pytest.approx(strength.win_se))
    assert found.seats == strength.games


def test_agents_without_dice_are_equal_to_themselves() -> None:
    """Two against two in every arrangement: what the one agent gets, the other gets in the arrangement that is turned round."""
    played = hold(plan(arena.head_to_head(4), "greedy", "greedy", deals=30))
    results = arena.summarise(played, fits=20)
    [comparison] = results.comparisons
    assert (comparison.heads.mean, comparison.heads.se, comparison.decided) == (0.0, 0.0, 0)
    assert [standing.wins.mean for standing in results.standings] == pytest.approx([0.25, 0.25])
    assert results.ratings.points.tolist() == pytest.approx([0.0, 0.0])
    assert "equal: no deal made a difference" in results.verdict(comparison)


def test_illegal_actions_are_counted() -> None:
    played = hold(plan(arena.head_to_head(3, [1]), "wrong", "greedy", deals=5), make=make)
    assert played.illegal[0] == played.decisions[0] > 0
    assert played.illegal[1] == 0
    notes = " ".join(arena.summarise(played, fits=5).notes)
    assert f"wrong.0 chose {played.illegal[0]:,} illegal actions" in notes


def test_each_agent_is_asked_once_a_step_for_all_its_games() -> None:
    """What makes learned policies quick: batches over games, not a call for each."""
    calls: list[int] = []

    class Counting(Agent):
        def _act(self, views: NDArray[np.void]) -> NDArray[np.int64]:
            calls.append(len(views))
            return agents.make("greedy").act(views)

    hold(
        plan(arena.head_to_head(4), "greedy", "random", deals=100),
        make=lambda spec, game, seed: Counting(GAME, spec) if spec == "greedy" else agents.make(spec),
    )
    assert sum(calls) >= 100 * 6 * 2 * 10
    assert len(calls) <= 25
    assert max(calls) == 100 * 6 * 2


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"deals": 0}, "deals=0 must be a whole number of at least 1"),
    ({"deals": 2.5}, "deals=2.5"),
    ({"rules": Rules(5)}, "the schedule is for 4 players, the rules for 5"),
    ({"entrants": (Entrant("a", "greedy", 1),)}, "the schedule seats agent 1: there are 0 to 0"),
    ({"entrants": (Entrant("a", "greedy", 1), Entrant("a", "random", 2))}, "two agents are called 'a'"),
]


@pytest.mark.parametrize(("options", "message"), REFUSED)
def test_plans_that_do_not_fit(options: dict[str, Any], message: str) -> None:
    good = {"rules": Rules(), "entrants": (Entrant("a", "greedy", 1), Entrant("b", "random", 2)), "deals": 3, **options}
    with pytest.raises(ValueError, match=message):
        Plan("sixnimmt", good["rules"], good["entrants"], arena.head_to_head(4), good["deals"])


@pytest.mark.parametrize("workers", [0, -1, True, 1.0])
def test_workers_that_are_none(workers: Any) -> None:
    with pytest.raises(ValueError, match=f"workers={workers} must be"):
        hold(plan(arena.head_to_head(4), "greedy", "random"), workers=workers)


# --- processes ---------------------------------------------------------------------------------------------------------


def test_the_same_for_any_number_of_processes(tmp_path: Path) -> None:
    it = plan(arena.round_robin(4, 4), *FOUR, deals=60, chunk_games=40)
    alone = hold(it, tmp_path / "1")
    told = Told()
    spread = hold(it, tmp_path / "2", workers=2, progress=told.progress)
    assert same(alone, spread)
    assert told.begun == [(0, 240)]
    assert sum(told.games) == 240
    files = [sorted(path.relative_to(folder) for path in folder.rglob("*")) for folder in (tmp_path / "1", tmp_path / "2")]
    assert files[0] == files[1]
    assert len(files[0]) == 2 + 6
    one, two = (np.load(folder / "played" / files[0][-1].name) for folder in (tmp_path / "1", tmp_path / "2"))
    assert (one["costs"] == two["costs"]).all()


def test_a_process_that_dies_is_named_and_what_was_played_is_kept(tmp_path: Path) -> None:
    it = plan(arena.head_to_head(4), "greedy", "deadly", deals=4)
    with pytest.raises(WorkerDied, match="a process that played has died"):
        hold(it, tmp_path / "run", workers=2, make=make)


# --- agents that break -------------------------------------------------------------------------------------------------


def broken(**options: Any) -> Plan:
    """Two agents that break among two that do not."""
    return plan(arena.round_robin(4, 4), "raises", "greedy", "sometimes", "random", **{"deals": 20, "chunk_games": 28, **options})


def test_agents_that_break_forfeit_and_the_others_play_on(tmp_path: Path) -> None:
    """The same for any number of processes, byte by byte where no clock is read."""
    alone = hold(broken(), tmp_path / "1", make=make_broken)
    spread = hold(broken(), tmp_path / "2", workers=2, make=make_broken)
    whole = hold(broken(), make=make_mended)
    for played in (alone, spread):
        assert same(played, whole)
        assert played.forfeits == alone.forfeits
    assert {agent: found.reason for agent, found in alone.forfeits.items()} == {0: FAULTS["raises"], 2: FAULTS["sometimes"]}
    assert alone.forfeits[0].decisions == alone.decisions[0]
    assert 0 < alone.forfeits[2].decisions < alone.decisions[2]
    for path in sorted((tmp_path / "1" / "played").iterdir()):
        one, two = (dict(np.load(folder / "played" / path.name)) for folder in (tmp_path / "1", tmp_path / "2"))
        assert set(one) == {"costs", "illegal", "decisions", "seconds", "forfeits", "reasons"}
        assert all(one[name].tobytes() == two[name].tobytes() for name in set(one) - {"seconds"})


def test_forfeits_are_kept(tmp_path: Path) -> None:
    """They are known from the folder, and more deals go on with them: chunks make no difference."""
    hold(broken(deals=10), tmp_path / "run", make=make_broken)
    whole = hold(broken(deals=30), make=make_broken)
    more = hold(broken(deals=30), tmp_path / "run", make=make_broken)
    assert same(more, whole)
    assert more.forfeits == whole.forfeits
    again = hold(broken(deals=30), tmp_path / "run", make=Watched(0))
    assert again.forfeits == whole.forfeits


def test_what_is_said_of_agents_that_break() -> None:
    played = hold(broken(), make=make_broken)
    results = arena.summarise(played, fits=5)
    assert results.forfeits[0] == f"raises.0 forfeited {played.forfeits[0].decisions:,} decisions: ValueError: no idea at all"
    assert len(results.forfeits) == 2
    assert set(results.forfeits) < set(arena.as_data(results)["notes"])
    data = {agent["name"]: agent for agent in arena.as_data(results)["agents"]}
    assert data["raises.0"]["forfeits"] == played.forfeits[0].decisions
    assert data["raises.0"]["forfeit_reason"] == "ValueError: no idea at all"
    assert (data["greedy.1"]["forfeits"], data["greedy.1"]["forfeit_reason"]) == (0, None)


def test_a_folder_kept_before_there_were_forfeits(tmp_path: Path) -> None:
    """Goes on, with whatever limit; one that has a limit goes on with that alone."""
    it = plan(arena.head_to_head(4), "greedy", "random", deals=3)
    first = hold(it, tmp_path)
    [chunk] = (tmp_path / "played").iterdir()
    assert set(np.load(chunk)) == {"costs", "illegal", "decisions", "seconds"}, "as it was"
    with pytest.raises(ValueError, match=r"holds another tournament \(other seconds_limit\)"):
        hold(replace(it, seconds_limit=None), tmp_path)
    path = tmp_path / "plan.json"
    kept = json.loads(path.read_text())
    assert kept.pop("seconds_limit") == 10.0
    path.write_text(json.dumps(kept))
    for limit in (10.0, None):
        assert same(first, hold(replace(it, seconds_limit=limit), tmp_path, make=Watched(0)))


def test_damaged_forfeits_are_named(tmp_path: Path) -> None:
    it = broken(deals=3)
    hold(it, tmp_path, make=make_broken)
    [chunk] = (tmp_path / "played").iterdir()
    arrays = dict(np.load(chunk))
    for damaged in (
        {name: array for name, array in arrays.items() if name != "forfeits"},
        {name: array for name, array in arrays.items() if name != "reasons"},
        arrays | {"others": arrays["forfeits"]},
        arrays | {"forfeits": -arrays["forfeits"]},
        arrays | {"reasons": arrays["reasons"][:2]},
        arrays | {"reasons": arrays["forfeits"]},
    ):
        chunk.write_bytes(packed(damaged))
        with pytest.raises(ValueError, match=r"npz: is damaged .* delete it to have its deals played again"):
            hold(it, tmp_path)


# --- interruptions -----------------------------------------------------------------------------------------------------


class Watched:
    """Makes agents that count what they are asked, and stops after so many batches as Ctrl-C does."""

    def __init__(self, after: int | None = None) -> None:
        self.after, self.decisions = after, 0

    def __call__(self, spec: str, game: str, seed: int) -> Agent:
        watched, agent = self, agents.make(spec, game, seed)

        class Counting(Agent):
            def _act(self, views: NDArray[np.void]) -> NDArray[np.int64]:
                watched.decisions += len(views)
                if watched.after is not None:
                    watched.after -= 1
                    if watched.after < 0:
                        raise KeyboardInterrupt
                return agent.act(views)

        return Counting(GAME, spec, seed)


@pytest.mark.parametrize("after", [0, 5, 60, 200])
def test_an_interrupted_tournament_goes_on_and_nothing_is_played_twice(tmp_path: Path, after: int) -> None:
    it = plan(arena.round_robin(4, 4), *FOUR, deals=40, chunk_games=32)
    whole = hold(it)
    first = hold(it, tmp_path / "run", make=Watched(after))
    assert first.stopped == "interrupted"
    done = len(first.costs)
    assert (whole.costs[:done] == first.costs).all()
    rest, told = Watched(), Told()
    second = hold(it, tmp_path / "run", make=rest, progress=told.progress)
    assert same(whole, second)
    assert second.stopped == ""
    assert told.begun == [(4 * done, 160)]
    assert sum(told.games) == 160 - 4 * done
    assert rest.decisions + first.decisions.sum() == whole.decisions.sum()
    third, told = Watched(0), Told()
    assert same(hold(it, tmp_path / "run", make=third, progress=told.progress), whole), "all is there: nobody is asked"
    assert told.games == []


def test_more_deals_go_on_with_those_that_are_there(tmp_path: Path) -> None:
    schedule = arena.round_robin(4, 4)
    hold(plan(schedule, *FOUR, deals=10, chunk_games=28), tmp_path / "run")  # chunks of 7 deals
    rest = Watched()
    more = hold(plan(schedule, *FOUR, deals=30, chunk_games=28), tmp_path / "run", make=rest)
    whole = hold(plan(schedule, *FOUR, deals=30, chunk_games=28))
    assert same(more, whole)
    assert 20 / 30 * 0.9 < rest.decisions / whole.decisions.sum() < 20 / 30 * 1.1
    fewer = hold(plan(schedule, *FOUR, deals=12, chunk_games=28), tmp_path / "run", make=Watched(0))
    assert (fewer.costs == whole.costs[:12]).all()


KILLED = """
import sys
from pathlib import Path
from sixnimmt_env import arena
from tests.arena.toys import make, plan
if __name__ == "__main__":
    it = plan(arena.head_to_head(4), "slow", "random", deals=40, chunk_games=12)
    arena.hold(it, Path(sys.argv[1]), workers=int(sys.argv[2]), make=make)
"""


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_killed_at_any_moment_it_goes_on(tmp_path: Path, workers: int) -> None:
    script, folder = tmp_path / "killed.py", tmp_path / "run"
    script.write_text(KILLED)
    process = subprocess.Popen([sys.executable, str(script), str(folder), str(workers)], env={**os.environ, "PYTHONPATH": str(REPOSITORY)})
    waited = time.monotonic()
    while len(list(folder.glob("played/*.npz"))) < 3:
        assert process.poll() is None
        assert time.monotonic() - waited < 120
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    kept = {path: path.stat().st_mtime_ns for path in folder.glob("played/*.npz")}
    it = plan(arena.head_to_head(4), "slow", "random", deals=40, chunk_games=12)
    told = Told()
    quick = plan(arena.head_to_head(4), "greedy", "random", deals=40, chunk_games=12)
    found, whole = hold(it, folder, make=make, progress=told.progress), hold(quick)
    assert (found.costs == whole.costs).all()
    assert told.begun == [(12 * len(kept), 240)]
    assert sum(told.games) == 240 - 12 * len(kept)
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    assert len(list(folder.glob("played/*.npz"))) == 20


def test_a_folder_is_of_one_tournament(tmp_path: Path) -> None:
    schedule, folder = arena.round_robin(4, 4), tmp_path / "run"
    it = plan(schedule, *FOUR, deals=3)
    hold(it, folder)
    others = [
        (plan(schedule, *FOUR, deals=3, seed=1), "other seed"),
        (plan(schedule, *FOUR, deals=3, rules=Rules(4, "tactical")), "other rules"),
        (plan(schedule, *FOUR[::-1], deals=3), "other agents"),
        (plan(arena.round_robin(4, 4, seating="all"), *FOUR, deals=3), "other seating"),
    ]
    for other, why in others:
        with pytest.raises(ValueError, match=rf"run: holds another tournament \({why}"):
            hold(other, folder)
    changed = Plan(it.game, it.rules, (Entrant("random.0", "random", 1, mark="new weights"), *it.entrants[1:]), schedule, 3)
    with pytest.raises(ValueError, match="other agents"):
        hold(changed, folder)


def packed(arrays: dict[str, NDArray[Any]]) -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)  # type: ignore[arg-type]
    return buffer.getvalue()


def test_wrong_bytes_are_harmless_or_named(tmp_path: Path) -> None:
    """Whatever byte it is: the archive's own tables, the compressed numbers, their checksums."""
    it = plan(arena.head_to_head(4), "greedy", "random", deals=3)
    first = hold(it, tmp_path)
    [chunk] = (tmp_path / "played").iterdir()
    good, named, harmless = chunk.read_bytes(), 0, 0
    for place in range(len(good)):
        chunk.write_bytes(good[:place] + bytes([good[place] ^ 0xFF]) + good[place + 1 :])
        try:
            again = hold(it, tmp_path)
        except ValueError as error:
            named += "npz: is damaged (" in str(error)
        else:
            assert same(first, again)
            harmless += 1
    assert named + harmless == len(good)
    assert named > harmless


def test_a_folder_that_has_its_plan_alone(tmp_path: Path) -> None:
    """Killed before anything was played, or cleaned up by hand."""
    it = plan(arena.head_to_head(4), "greedy", "random", deals=3)
    first = hold(it, tmp_path)
    for chunk in (tmp_path / "played").iterdir():
        chunk.unlink()
    (tmp_path / "played").rmdir()
    assert same(first, hold(it, tmp_path))


def test_folders_that_cannot_be_used(tmp_path: Path) -> None:
    it = plan(arena.head_to_head(4), "greedy", "random", deals=3)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    (tmp_path / "file").write_text("")
    for name in ("mine", "file"):
        with pytest.raises((ValueError, OSError), match=r"is in use, but not by a tournament|Not a directory"):
            hold(it, tmp_path / name)
    hold(it, tmp_path / "run")
    [chunk] = (tmp_path / "run" / "played").iterdir()
    good = chunk.read_bytes()
    arrays = dict(np.load(io.BytesIO(good)))
    for content in (
        b"",
        good[:100],
        b"no numbers",
        packed(arrays | {"decisions": np.zeros(1, dtype=np.int64)}),
        packed(arrays | {"illegal": np.array(0)}),
        packed(arrays | {"costs": -arrays["costs"]}),
        packed(arrays | {"seconds": arrays["seconds"] * np.nan}),
    ):
        chunk.write_bytes(content)
        with pytest.raises(ValueError, match=r"npz: is damaged .* delete it to have its deals played again"):
            hold(it, tmp_path / "run")
    chunk.write_bytes(good)
    for content in ("{", "[" * 100_000, "[]", '{"format": "other"}'):
        (tmp_path / "run" / "plan.json").write_text(content)
        with pytest.raises(ValueError, match=r"plan.json: is (damaged|no plan of a tournament)"):
            hold(it, tmp_path / "run")


# --- stopping early ----------------------------------------------------------------------------------------------------


def test_stops_when_decided_at_the_same_deal_whoever_plays(tmp_path: Path) -> None:
    it = plan(arena.head_to_head(4), "greedy", "random", deals=2000, chunk_games=60)

    def rule() -> UntilDecided:
        return UntilDecided(it.schedule, 2, [(0, 1)])

    alone = hold(it, decided=rule())
    assert alone.stopped == "decided"
    assert 64 <= alone.plan.deals < 300
    assert alone.plan.deals % it.chunk_deals == 0
    assert same(alone, hold(it, tmp_path / "run", workers=2, decided=rule()))
    told = Told()
    assert same(alone, hold(it, tmp_path / "run", make=Watched(0), decided=rule(), progress=told.progress)), "it is known from the folder"
    assert told.games == []
    whole = hold(plan(it.schedule, "greedy", "random", deals=400, chunk_games=60), tmp_path / "run")
    assert (whole.costs[: alone.plan.deals] == alone.costs).all(), "without the rule it goes on"
    assert whole.plan.deals == 400


def test_the_rule_hears_of_every_deal_once_and_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[NDArray[np.int64]] = []

    def rule(costs: NDArray[np.int64]) -> bool:
        heard.append(costs)
        return False

    it = plan(arena.head_to_head(4), "greedy", "random", deals=20, chunk_games=18)
    backwards = module._missing
    monkeypatch.setattr(module, "_missing", lambda *arguments: reversed(list(backwards(*arguments))))
    played = hold(it, decided=rule)
    assert [len(costs) for costs in heard] == [3, 3, 3, 3, 3, 3, 2]
    assert (np.concatenate(heard) == played.costs).all()
