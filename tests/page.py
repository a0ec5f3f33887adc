"""The documentation page of a game's environments, which is the docstring of its front door: written from the code, not beside it.

`python -m tests.page` brings the docstrings of all front doors up to date; a test notices when one is not.
"""

from __future__ import annotations

import argparse
import dataclasses
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from sixnimmt_env import sixnimmt_v0
from sixnimmt_env.core.game import Game
from sixnimmt_env.envs.aec import AECGameEnv
from sixnimmt_env.envs.parallel import ParallelGameEnv
from sixnimmt_env.envs.single import SeatEnv
from sixnimmt_env.envs.table import Table
from sixnimmt_env.envs.vector import SeatVectorEnv


@dataclasses.dataclass(frozen=True)
class Words:
    """What the page says that no code can know.

    Attributes:
        title: the game's name.
        about: what it is, in a sentence or two.
        cost: what rewards take away ("bull heads").
        gym_id, pettingzoo_id: where it is registered.
        history: version -> what it brought.
    """

    title: str
    about: str
    cost: str
    gym_id: str
    pettingzoo_id: str
    history: Mapping[str, str]


FRONT_DOORS: Final[Mapping[ModuleType, Words]] = {
    sixnimmt_v0: Words(
        title="6 nimmt!",
        about="simultaneous choice and hidden hands, 2 to 10 players. `sixnimmt rules` says the rules.",
        cost="bull heads",
        gym_id="sixnimmt_env/SixNimmt-v0",
        pettingzoo_id="sixnimmt_env/sixnimmt-v0",
        history={"v0": "first release"},
    ),
}


def page(game: Game, door: ModuleType, words: Words) -> str:
    """The page as Markdown."""
    parts = [
        f"{words.title} for PettingZoo and Gymnasium: {words.about}",
        _import(door.__name__.rpartition(".")[2]),
        _facts(game, words),
        "Actions\n-------\n" + _actions(game),
        "Observation\n-----------\n" + _observation(game),
        "Masks\n-----\n" + _wrapped(_MASKS.format(wait=game.wait)),
        "Rewards and the end\n-------------------\n" + _wrapped(_REWARDS.format(cost=words.cost)),
        "Forms\n-----\n" + _forms(door, words),
        "Options\n-------\n" + _options(game, door),
        "Version history\n---------------\n" + "\n".join(f"- {version}: {what}" for version, what in words.history.items()),
    ]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _import(name: str) -> str:
    return f"""\
```python
from sixnimmt_env import {name}

env = {name}.env(num_players=4)
env.reset(seed=0)
for agent in env.agent_iter():
    observation, reward, terminated, truncated, info = env.last()
    if terminated or truncated:
        action = None
    else:
        action = env.action_space(agent).sample(observation["action_mask"])
    env.step(action)
```"""


def _facts(game: Game, words: Words) -> str:
    size, actions = game.layout.size, game.num_actions
    default = game.rules()
    rows = {
        "agents": f"`player_0` ... `player_{game.max_seats - 1}`, as many as play; {default.num_players} by default",
        "action space": f"`Discrete({actions})`",
        "observation space": f"`Dict(observation=Box(0, 1, ({size},), float32), action_mask=Box(0, 1, ({actions},), int8))`",
        "state space": f"`Box(0, 1, ({size},), float32)`: all hands, for critics in training, never for a seat that decides",
        "the same for": "2 to 10 players, every variant and every form, so that one policy fits all"
        if game.max_seats == 10
        else "every number of players, every variant and every form",
        "rewards": f"minus the {words.cost} taken, when they are taken",
        "parallel form": "yes",
    }
    return _table(("what", "here"), rows.items())


def _actions(game: Game) -> str:
    rows = []
    for group in game.actions:
        last = group.first + group.count - 1
        numbers = f"{group.first}" if group.count == 1 else f"{group.first} to {last}"
        names = group.called(group.first) + ("" if group.count == 1 else f" to {group.called(last)}")
        rows.append((numbers, names, group.meaning))
    return _table(("action", "called", "meaning"), rows)


def _observation(game: Game) -> str:
    words = (
        "`observation` is one vector of named numbers, from the seat's own point of view and of what it may know. Lines of a group "
        "stand one after the other, as many as its heading says. `LAYOUT.explain(observation)` of the game's module says in words what one "
        f"holds, `LAYOUT.decode` gives natural numbers. This is layout version {game.layout.version}."
    )
    return f"{_wrapped(words)}\n\n{game.layout.table()}"


_MASKS: Final = """\
`observation["action_mask"]` and `infos[agent]["action_mask"]` hold 1 for each legal action, as int8; the single and the vector form also
answer `action_masks()`, as bool (through Gymnasium's wrappers: `env.get_wrapper_attr("action_masks")()`). Draw actions with it:
`env.action_space(agent).sample(mask)`. In the AEC form the mask of an agent that is not asked is empty. In the parallel form, where every
agent acts in every step, one that has nothing to decide may only wait ({wait}). An illegal action raises `IllegalActionError` and changes
nothing, unless `illegal_action` says otherwise.
"""

_REWARDS: Final = """\
Rewards are minus the {cost} taken, in the step in which they are taken; those of a match add up to minus its total, and the lowest total
wins. All agents are terminated together when the match is over. Nothing is truncated, unless `max_cycles` (PettingZoo) or
`max_episode_steps` (`gymnasium.make`) asks for it.
"""


def _wrapped(words: str) -> str:
    return textwrap.fill(" ".join(words.split()), 132, break_long_words=False, break_on_hyphens=False)


def _forms(door: ModuleType, words: Words) -> str:
    name = door.__name__.rpartition(".")[2]
    rows = [
        (f"`{name}.env(...)`", f'PettingZoo AEC, also `pettingzoo.make("aec", "{words.pettingzoo_id}")`', _first_line(AECGameEnv)),
        (
            f"`{name}.parallel_env(...)`",
            f'PettingZoo parallel, also `pettingzoo.make("parallel", "{words.pettingzoo_id}")`',
            _first_line(ParallelGameEnv),
        ),
        (f'`gymnasium.make("{words.gym_id}", ...)`', f"Gymnasium, also `{name}.gym_env(...)`", _first_line(SeatEnv)),
        (
            f'`gymnasium.make_vec("{words.gym_id}", num_envs=64, ...)`',
            f"Gymnasium vector, also `{name}.gym_vector_env(...)`",
            _first_line(SeatVectorEnv),
        ),
    ]
    return _table(("made by", "kind", "what it is"), rows) + "\n\nEqual seeds deal equal cards in all of them."


def _options(game: Game, door: ModuleType) -> str:
    rules = {field.name: field.default for field in dataclasses.fields(game.rules)}  # type: ignore[arg-type]
    own = _arguments(game.rules)
    lines = [(f"`{name}={default!r}`", own[name]) for name, default in rules.items()]
    for form, label in ((Table, "PettingZoo"), (SeatEnv, "Gymnasium"), (SeatVectorEnv, "Gymnasium vector")):
        told = {name: what for name, what in _arguments(form).items() if not what.startswith("as for ")}
        for name, parameter in inspect.signature(form.__init__).parameters.items():
            if parameter.default is not inspect.Parameter.empty and name in told:
                lines.append((f"`{name}={_default(parameter.default)}`", f"{label}: {told[name]}"))
    return _table(("option", "meaning"), lines)


def _default(value: Any) -> str:
    return repr(getattr(value, "value", value))


def _first_line(thing: Any) -> str:
    return (inspect.getdoc(thing) or "").partition("\n")[0].replace(" of any `Game`", "")


def _arguments(thing: Any) -> dict[str, str]:
    """The entries of a docstring's `Args:`, each on one line."""
    block = re.search(r"^Args:\n((?: {4}.*\n?|\n)*)", inspect.getdoc(thing) or "", re.MULTILINE)
    entries: dict[str, str] = {}
    names: list[str] = []
    for line in block[1].splitlines() if block else []:
        if entry := re.match(r" {4}(?! )([\w, ]+): (.*)", line):
            names = entry[1].split(", ")
            entries |= dict.fromkeys(names, entry[2].strip())
        elif line.strip():
            entries |= {name: f"{entries[name]} {line.strip()}" for name in names}
    return entries


def _table(header: tuple[str, ...], rows: Any) -> str:
    lines = [f"| {' | '.join(cell.replace(' | ', ', ') for cell in row)} |" for row in rows]
    return "\n".join([f"| {' | '.join(header)} |", "|" + "---|" * len(header), *lines])


# --- keeping docstrings up to date -------------------------------------------------------------------------------------


def outdated() -> Iterator[tuple[Path, str]]:
    """(file, what it should hold) of every front door whose docstring is not its page."""
    for door, words in FRONT_DOORS.items():
        path = Path(inspect.getsourcefile(door) or "")
        source = path.read_text(encoding="utf-8")
        _, _, code = source.removeprefix('"""').partition('"""\n')
        wanted = f'"""{page(door.GAME, door, words)}"""\n{code}'
        if wanted != source:
            yield path, wanted


def main() -> int:
    """Bring the docstrings up to date, or only look, with --check: exit status 1 if one is not."""
    parser = argparse.ArgumentParser(prog="python -m tests.page", description=main.__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing")
    check = parser.parse_args().check
    found = 0
    for path, wanted in outdated():
        found += 1
        print(f"{path.name} is out of date" if check else f"{path.name} brought up to date")
        if not check:
            path.write_text(wanted, encoding="utf-8")
    return 1 if check and found else 0


if __name__ == "__main__":
    sys.exit(main())
