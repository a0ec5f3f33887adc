"""The command line: `sixnimmt`, and `python -m training`.

Exit status: 0 done, 1 a fault of ours (with a traceback), 2 what was asked for cannot be done (with the reason and the fix), 130 stopped by
Ctrl-C with everything saved. Modules that take long to import are imported by the command that needs them.
"""

from __future__ import annotations

import argparse
import dataclasses
import errno
import io
import json
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from sixnimmt_env import __version__, agents, traces
from sixnimmt_env.core.seeding import MAX_SEED
from sixnimmt_env.games import sixnimmt

from .plugin import agent_of

_MOST_ROUNDS = 10_000_000  # they are all laid out at once, a hundred bytes each
DONE, FAULT, REFUSED, INTERRUPTED = 0, 1, 2, 130

_EPILOG = """\
first steps:
  sixnimmt train configs/quickstart.yaml               learn for some minutes
  sixnimmt evaluate runs/quickstart --against greedy   how good is it?
  sixnimmt evaluate greedy --against random            a rule-based player
  sixnimmt tournament random greedy highest closest    all with all
  sixnimmt watch runs/quickstart greedy random greedy  see them play
  sixnimmt replay game.jsonl --explain                 a saved match in words
  sixnimmt analyze --hand 3,17 --rows 5 22 60 80       what each card is worth
  sixnimmt agents                                      what can be an AGENT
"""


class Refusal(Exception):
    """What the user asked for cannot be done; the message says why and what could be."""


@contextmanager
def _asked() -> Any:
    """Errors in here are about what the user asked for."""
    try:
        yield
    except (ValueError, OSError) as error:
        raise Refusal(_reason(error)) from error


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit status."""
    options = _parser().parse_args(arguments)
    try:
        status: int = options.run(options)
        sys.stdout.flush()
    except BrokenPipeError:  # whoever reads has seen enough, as in `sixnimmt agents | head -1`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except (Refusal, OSError) as error:
        return _refuse(_reason(error))
    except MemoryError as error:
        return _refuse(f"not enough memory: {error}; for a training, lower training.games")
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] in ("sixnimmt_env", "training"):
            raise
        return _refuse(f"{error.name} is not installed: python -m pip install torch==2.13.0 'sixnimmt-env[train]'")
    except KeyboardInterrupt:
        print("sixnimmt: stopped", file=sys.stderr)
        return INTERRUPTED
    return status


def _refuse(why: str) -> int:
    print(f"sixnimmt: {why}", file=sys.stderr)
    return REFUSED


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="sixnimmt",
        description="Train, evaluate and measure players of 6 nimmt!.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,  # for the epilog; no line is longer than 80 columns
    )
    parser.add_argument("--version", action="version", version=f"sixnimmt {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    def command(name: str, run: Callable[[argparse.Namespace], int], short: str, long: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=short, description=long)
        sub.set_defaults(run=run)
        return sub

    train = command("train", _train, "train a policy from a YAML file", _TRAIN)
    train.add_argument("config", metavar="CONFIG.yaml", type=Path)
    train.add_argument(
        "--set", action="append", default=[], metavar="KEY.PATH=VALUE", dest="overrides", help="override one key; repeatable"
    )
    train.add_argument("--out", type=Path, metavar="DIR", help="run folder, new or empty (default: runs/NAME, or runs/NAME-2, ...)")
    train.add_argument("--print-config", action="store_true", help="print the complete configuration and stop")

    _add_evaluate_options(command("evaluate", _evaluate, "measure an agent against others", _EVALUATE))

    _add_analyze_options(command("analyze", _analyze, "what each card of a position is worth", _ANALYZE))

    _add_exploit_options(command("exploit", _exploit, "train against an agent to find its weakness", _EXPLOIT))

    _add_tournament_options(command("tournament", _tournament, "let agents play each other: ratings, report", _TOURNAMENT))

    bench = command("bench", _bench, "measure speed beside in-repo baselines", _BENCH)
    bench.add_argument("names", nargs="*", metavar="NAME", help="benchmarks to run (default: all)")
    bench.add_argument("--list", action="store_true", help="list the benchmarks, one line each, and stop")
    bench.add_argument("--json", type=Path, metavar="FILE", help="write the results as JSON")

    _add_watch_options(command("watch", _watch, "watch a match, or save it as a picture", _WATCH))

    replay = command("replay", _replay, "tell a recorded match in words", _REPLAY)
    replay.add_argument("trace", metavar="FILE.jsonl", type=Path)
    replay.add_argument("--explain", action="store_true", help="with the reasons that the rules give")
    replay.add_argument("--board", action="store_true", help="with the board, all hands open, before every turn")
    replay.add_argument("--step", action="store_true", help="stop after every event and show the board; Enter goes on")
    replay.add_argument("--from", type=int, default=0, metavar="N", dest="start", help="begin with event N (default: %(default)s)")
    replay.add_argument("--check", action="store_true", help="only verify the file")

    command("agents", _agents, "list what can be named as AGENT", "List what can be named as AGENT, one line each.")
    rules = command(
        "rules", _rules, "say the rules in force in words", "Say in words which rules are in force, by default or in a configuration."
    )
    rules.add_argument("config", nargs="?", metavar="CONFIG.yaml", type=Path)
    return parser


def _add_evaluate_options(evaluate: argparse.ArgumentParser) -> None:
    evaluate.add_argument("agent", metavar="AGENT", help="a name of `sixnimmt agents`, a run folder or a policy file")
    evaluate.add_argument("--against", required=True, metavar="AGENT[,AGENT...]", help="opponents; one evaluation each")
    evaluate.add_argument("--players", type=int, metavar="N", help="players at the table (default: as trained, else 4)")
    evaluate.add_argument("--deck", choices=sixnimmt.DECKS, help="deck (default: as trained, else standard)")
    evaluate.add_argument(
        "--professional", action=argparse.BooleanOptionalAction, help="cards join either side of a row (default: as trained)"
    )
    evaluate.add_argument("--rounds", type=int, default=20_000, metavar="N", help="matches against each (default: %(default)s)")
    evaluate.add_argument("--seed", type=int, default=0, metavar="S", help="of the deals and dice (default: %(default)s)")
    evaluate.add_argument("--json", type=Path, metavar="FILE", help="write the results as JSON")


def _add_analyze_options(analyze: argparse.ArgumentParser) -> None:
    analyze.add_argument(
        "position", nargs="?", type=Path, metavar="POSITION.json", help="a position, or a recorded match (FILE.jsonl, with --event)"
    )
    analyze.add_argument("--hand", metavar="CARDS", help="own cards, as in 3,17,40")
    analyze.add_argument("--rows", nargs="+", metavar="CARDS", help="a row each, front to end: --rows 5 20,22 60 80,81,82")
    analyze.add_argument("--agent", default="monte_carlo:rollouts=1000", metavar="AGENT", help="who thinks about it (default: %(default)s)")
    analyze.add_argument("--players", type=int, default=4, metavar="N", help="players at the table (default: %(default)s)")
    analyze.add_argument("--seat", type=int, default=0, metavar="SEAT", help="own seat, from 0 (default: %(default)s)")
    analyze.add_argument("--seen", default="", metavar="CARDS", help="cards that have lain open this round and do so no more")
    analyze.add_argument("--revealed", metavar="SEAT:CARD,...", help="the cards of this turn, when a row or a side is to be chosen")
    analyze.add_argument("--deck", choices=("standard", "tactical"), default="standard", help="deck (default: %(default)s)")
    analyze.add_argument("--professional", action=argparse.BooleanOptionalAction, default=False, help="cards join either side of a row")
    analyze.add_argument("--hand-size", type=int, default=10, metavar="N", help="cards dealt to each (default: %(default)s)")
    analyze.add_argument("--event", type=int, metavar="N", help="of a recorded match: the moment just before event N")
    analyze.add_argument("--seed", type=int, default=0, metavar="S", help="of the dice (default: %(default)s)")
    analyze.add_argument("--plot", type=Path, metavar="FILE.png", help="draw it as well")
    analyze.add_argument("--json", type=Path, metavar="FILE", help="write the results as JSON")


def _add_exploit_options(exploit: argparse.ArgumentParser) -> None:
    exploit.add_argument("agent", metavar="AGENT", help="a name of `sixnimmt agents`, a run folder or a policy file")
    exploit.add_argument("--minutes", type=float, default=5.0, metavar="M", help="of training (default: %(default)s)")
    exploit.add_argument("--players", type=int, metavar="N", help="players at the table (default: as trained, else 4)")
    exploit.add_argument("--deck", choices=sixnimmt.DECKS, help="deck (default: as trained, else standard)")
    exploit.add_argument(
        "--professional", action=argparse.BooleanOptionalAction, help="cards join either side of a row (default: as trained)"
    )
    exploit.add_argument("--rounds", type=int, default=20_000, metavar="N", help="to measure the gain with (default: %(default)s)")
    exploit.add_argument("--games", type=int, default=1024, metavar="N", help="games side by side (default: %(default)s)")
    exploit.add_argument("--seed", type=int, default=0, metavar="S", help="of the training, deals and dice (default: %(default)s)")
    exploit.add_argument("--out", type=Path, metavar="DIR", help="run folder, new or empty (default: runs/exploit, or runs/exploit-2, ...)")
    exploit.add_argument("--exact", action="store_true", help="instead, the exact loss in small games (needs OpenSpiel)")
    exploit.add_argument("--small", metavar="GAME", help="with --exact: this game, as in players=2,hand_size=2,num_rows=1,deck_size=8")
    exploit.add_argument("--json", type=Path, metavar="FILE", help="write the results as JSON")


def _add_tournament_options(tournament: argparse.ArgumentParser) -> None:
    tournament.add_argument("agents", nargs="*", metavar="AGENT", help="two or more, each AGENT or NAME=AGENT; or one CONFIG.yaml")
    tournament.add_argument(
        "--format", help="head_to_head, one_vs_field, round_robin, gauntlet or cross_play (default: head_to_head for two, else round_robin)"
    )
    tournament.add_argument("--players", type=int, metavar="N", help="players at the table (default: 4)")
    tournament.add_argument("--deck", choices=sixnimmt.DECKS, help="deck (default: standard)")
    tournament.add_argument("--professional", action=argparse.BooleanOptionalAction, help="cards join either side of a row")
    tournament.add_argument("--target", type=int, metavar="HEADS", help="whole matches: until a total has reached this many bull heads")
    tournament.add_argument("--deals", type=int, metavar="N", help="deals, each played with every line-up and seating (default: 1000)")
    tournament.add_argument("--seats", metavar="K[,K...]", help="of head_to_head: seats of the first agent (default: half of them)")
    tournament.add_argument("--seating", choices=("rotate", "all"), help="move line-ups round the table, or seat them in all ways")
    tournament.add_argument("--seed", type=int, metavar="S", help="of the deals and dice (default: 0)")
    tournament.add_argument(
        "--until-significant", action="store_true", default=None, help="stop when every comparison is decided, by a sequential rule"
    )
    tournament.add_argument("--workers", type=int, metavar="N", help="processes (default: 1); the results are the same for any number")
    tournament.add_argument(
        "--set", action="append", default=[], metavar="KEY.PATH=VALUE", dest="overrides", help="set one key of the file; repeatable"
    )
    tournament.add_argument("--out", type=Path, metavar="DIR", help="keeps what is played; run again, it goes on (default: runs/NAME)")
    tournament.add_argument("--resume", type=Path, metavar="DIR", help="go on with the tournament that DIR keeps")
    tournament.add_argument("--report", type=Path, metavar="DIR", help="where the report goes (default: the folder of --out)")
    tournament.add_argument("--json", type=Path, metavar="FILE", help="write the results as JSON")
    tournament.add_argument("--print-config", action="store_true", help="print the complete configuration and stop")


def _add_watch_options(watch: argparse.ArgumentParser) -> None:
    watch.add_argument("agents", nargs="+", metavar="AGENT", help="one for all seats, or one a seat")
    watch.add_argument("--players", type=int, metavar="N", help="players at the table (default: one an AGENT; for one AGENT 4)")
    watch.add_argument("--deck", choices=sixnimmt.DECKS, help="deck (default: as trained, else standard)")
    watch.add_argument(
        "--professional", action=argparse.BooleanOptionalAction, help="cards join either side of a row (default: as trained)"
    )
    length = watch.add_mutually_exclusive_group()
    length.add_argument("--rounds", type=int, metavar="N", help="rounds of the match (default: 1)")
    length.add_argument("--target", type=int, metavar="HEADS", help="play until a total has reached this many bull heads instead")
    watch.add_argument("--seed", type=int, default=0, metavar="S", help="of the deals and dice (default: %(default)s)")
    watch.add_argument("--speed", type=float, default=2.0, metavar="X", help="moments a second (default: %(default)s)")
    watch.add_argument("--hidden", type=int, metavar="SEAT", help="show what this seat sees (default: all hands)")
    watch.add_argument("--save", type=Path, metavar="FILE", help="save an animated picture: FILE.gif, FILE.png or FILE.webp")
    watch.add_argument("--trace", type=Path, metavar="FILE.jsonl", help="save a record of the match, for `sixnimmt replay`")
    watch.add_argument("--quiet", action="store_true", help="do not follow play here; for --save and --trace")


_TRAIN = """\
Train the policy that CONFIG.yaml describes, then evaluate it. Every key has a default; configs/quickstart.yaml explains them all.
Ctrl-C stops in good order: the policy so far is saved, and the exit status is 130.
"""
_EVALUATE = """\
One seat plays AGENT, all others play the opponent. Every deal is played once from every seat, and the standard error is that of
independent deals. Fewer bull heads are better; `random` against `random` shows what luck alone gives.
"""
_TOURNAMENT = """\
Let agents play each other on equal deals: every deal is played with every line-up in every seat. Means, shares of wins, ranks and ratings
come with 95 % intervals, agents are compared on the same deals, and what the rounds do not tell is said, with the number that would. What
is played is kept: after Ctrl-C the same command goes on. configs/arena/quick.yaml explains what a file may hold.
"""
_WATCH = """\
Play a match and follow it: on a terminal the board is drawn in place, card by card; elsewhere every event is one line. Spectators see all
hands. With --save the same moments are kept as an animated picture of the table.
"""
_REPLAY = """\
Tell the match in a trace, one line an event, under its number. The file is verified first: the match is played again, and every line must
be what the rules lead to. A damaged or foreign file is refused with its line.
"""
_ANALYZE = """\
Tell for each card (or row, or side) of a position what it costs on average to the end of the round, how often it takes a row at once, and
which row it goes to. The position is given by --hand and --rows, as JSON (the arguments of games.sixnimmt.table_view), or as a moment of a
recorded match. Everything else that is not in the position is dealt at random.
"""
_EXPLOIT = """\
Train a policy against AGENT, which plays all other seats, and tell how many bull heads it saves in one of their seats: the weakness that
was found, a lower bound of what there is. With --exact, solve small games of two players and tell what AGENT loses there to a perfect
opponent.
"""
_BENCH = """\
Measure how fast things are, each beside a baseline in the same run. Quote the ratios: absolute figures depend on the machine and on what
else it does.
"""


def _train(options: argparse.Namespace) -> int:
    from . import config as configuration

    with _asked():
        config = configuration.load(options.config, options.overrides, check_agent=agent_of)
    if options.print_config:
        print(configuration.dump(config), end="")
        return DONE
    from .callbacks import DivergedError
    from .train import free_folder, train

    try:
        run = train(config, options.out or free_folder(config.name))
    except (configuration.ConfigError, DivergedError) as error:
        raise Refusal(str(error)) from None
    return INTERRUPTED if run.interrupted else DONE


def _evaluate(options: argparse.Namespace) -> int:
    from sixnimmt_env.core.files import write_atomically

    from .console import SteadyConsole
    from .evaluate import as_json, evaluate, show

    with _asked():
        if not 1 <= options.rounds <= _MOST_ROUNDS:
            raise ValueError(f"--rounds {options.rounds} must be from 1 to {_MOST_ROUNDS:,}")
        if not 0 <= options.seed <= MAX_SEED - 2:  # two more are the players' dice
            raise ValueError(f"--seed {options.seed} must be a whole number from 0 to {MAX_SEED - 2}")
        if options.json:
            _check_writable(options.json)
        agent = agent_of(options.agent, seed=options.seed + 1)
        field = [agent_of(spec, seed=options.seed + 2) for spec in _specs(options.against)]
        rules = _rules_for(agent, options)
    if "torch" in sys.modules:  # a policy plays; its network is so small that more threads than one only wait for each other
        sys.modules["torch"].set_num_threads(1)
    console = SteadyConsole()
    trained = getattr(getattr(agent, "policy", None), "rules", rules)
    if dataclasses.replace(rules, rounds=trained.rounds, target=trained.target, exceed_target=trained.exceed_target) != trained:
        console.print("Note: the policy was trained on another variant or number of players, which it plays better than this.")
    elif trained.rounds != 1:
        console.print("Note: the policy was trained on longer matches; single rounds are evaluated here.")
    results = evaluate(agent, rules, field, options.rounds, options.seed, console)
    show(results, agent.name, console)
    if options.json:
        write_atomically(options.json, json.dumps(as_json(agent.name, options.seed, results), indent=2) + "\n")
    return DONE


def _tournament(options: argparse.Namespace) -> int:
    from sixnimmt_env.arena import WorkerDied

    from . import tournament
    from .config import dump
    from .console import SteadyConsole

    with _asked():
        config = _tournament_config(options)
        if options.print_config:
            print(dump(config), end="")
            return DONE
        if options.json:
            _check_writable(options.json)
        if options.report and options.report.exists() and not options.report.is_dir():
            raise OSError(errno.ENOTDIR, "is no folder; name another for the report", str(options.report))
        plan = tournament.plan_of(config)
        folder = options.resume or options.out or tournament.folder_of(config, plan, named=len(options.agents) == 1)
        tournament.prepare(config, plan, folder)
    try:
        stopped = tournament.run(config, plan, folder, SteadyConsole(), options.report, options.json)
    except WorkerDied as error:
        raise Refusal(f"{error}; to go on with fewer: sixnimmt tournament --resume {folder} --workers 1") from error
    return INTERRUPTED if stopped == "interrupted" else DONE


def _tournament_config(options: argparse.Namespace) -> Any:
    """The tournament of a file, of a folder that is gone on with, or of the agents named; with what the options say."""
    from . import tournament, tournament_config

    if bool(options.resume) == bool(options.agents):
        raise ValueError("name agents or a CONFIG.yaml, or a folder with --resume" + (", not both" if options.resume else ""))
    if options.resume and options.out:
        raise ValueError("--resume goes on in its folder: leave --out away")
    files = [agent for agent in options.agents if Path(agent).suffix in (".yaml", ".yml")]
    if files and len(options.agents) > 1:
        raise ValueError(f"{files[0]} is a file: name it alone, or agents only")
    if options.target is not None:
        options.overrides = [*options.overrides, "rules.rounds=null"]
    seats = None if options.seats is None else [int(k) if k.strip().isdigit() else k for k in options.seats.split(",")]
    given = {
        "--format": ("schedule.format", options.format),
        "--players": ("rules.num_players", options.players),
        "--deck": ("rules.deck", options.deck),
        "--professional": ("rules.professional", options.professional),
        "--target": ("rules.target", options.target),
        "--deals": ("play.deals", options.deals),
        "--seats": ("schedule.seats", seats),
        "--seating": ("schedule.seating", options.seating),
        "--seed": ("seed", options.seed),
        "--until-significant": ("play.until_significant", options.until_significant),
        "--workers": ("play.workers", options.workers),
    }
    overrides = [*((text, "") for text in options.overrides), *tournament_config.flags(given)]
    source = options.resume / tournament.CONFIG if options.resume else files[0] if files else options.agents
    return tournament_config.read(source, overrides, agent_of)


def _watch(options: argparse.Namespace) -> int:
    from . import watch
    from .console import SteadyConsole

    with _asked():
        if not 0 < options.speed <= 100:
            raise ValueError(f"--speed {options.speed:g} must be more than 0 and at most 100 moments a second")
        if not 0 <= options.seed <= MAX_SEED - len(options.agents):  # as many more are the players' dice
            raise ValueError(f"--seed {options.seed} must be a whole number from 0 to {MAX_SEED - len(options.agents)}")
        if options.save:
            _check_savable(options.save, list(watch.FORMATS))
        if options.trace:
            _check_writable(options.trace)
        if options.trace and options.save and os.path.realpath(options.trace) == os.path.realpath(options.save):
            raise ValueError(f"--save and --trace are both {options.save}: name two files")
        players = [agent_of(spec, seed=options.seed + 1 + place) for place, spec in enumerate(options.agents)]
        rules = _watched_rules(players, options)
        if options.hidden is not None and not 0 <= options.hidden < rules.num_players:
            raise ValueError(f"--hidden {options.hidden} is no seat: there are 0 to {rules.num_players - 1}")
    if "torch" in sys.modules:  # see _evaluate
        sys.modules["torch"].set_num_threads(1)
    seats = players if len(players) > 1 else players * rules.num_players
    states = sixnimmt.GAME.new_states(rules, 1, options.seed)
    console = SteadyConsole()
    views: list[Any] = []
    decisions: list[tuple[int, int]] = []
    following = watch.kept(watch.moments(sixnimmt.GAME, states, seats, options.hidden, decisions), views)
    try:
        watch.follow(following, sixnimmt.GAME, seats, options.speed, None if options.quiet else console)
    except watch.UnlawfulError as error:
        raise Refusal(str(error)) from error
    for line in watch.sums(sixnimmt.GAME.costs(states)[0, : len(seats)].tolist(), seats):
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    if options.save:
        watch.save(options.save, sixnimmt.GAME, views, options.speed, console)
    if options.trace:
        names = tuple(traces.printable(seat.name) for seat in seats)
        traces.Trace(sixnimmt.GAME, rules, tuple(decisions), options.seed, 0, names).save(options.trace)
        console.print(f"recorded in {options.trace}", highlight=False, markup=False, soft_wrap=True)
    return DONE


def _replay(options: argparse.Namespace) -> int:
    from . import replay

    with _asked():
        trace = traces.load(options.trace)
        trace.verify()
        if not 0 <= options.start < len(trace):
            raise ValueError(f"--from {options.start} is no event: there are 0 to {len(trace) - 1}")
    if options.check:
        print(replay.summary(trace, str(options.trace)))
        return DONE
    if options.step:
        lines = replay.walk(trace, input, options.explain, options.start)
    else:
        lines = replay.tell(trace, options.explain, options.board, options.start)
    for line in lines:
        print(line)
    return DONE


def _check_savable(path: Path, kinds: Sequence[str]) -> None:
    """Say before play begins that its picture could not be saved."""
    if path.suffix.lower() not in kinds:
        raise ValueError(f"--save {path} must end in {', '.join(kinds[:-1])} or {kinds[-1]}, which says what kind of picture it is to be")
    _check_writable(path)


def _watched_rules(players: Sequence[agents.Agent], options: argparse.Namespace) -> sixnimmt.Rules:
    """The variant asked for, else that of the first agent that was trained on one, for as many players as there are agents."""
    if len(players) > 1:
        if options.players not in (None, len(players)):
            raise ValueError(f"{len(players)} agents for --players {options.players}: give one for all seats, or one a seat")
        options.players = len(players)
    trained = [player for player in players if hasattr(player, "policy")]
    rules = _rules_for((*trained, players[0])[0], options)
    options.deck = rules.deck
    for player in trained:
        _rules_for(player, options)  # refuses a deck that this one has not learned
    rounds = 1 if options.rounds is None and options.target is None else options.rounds
    try:
        return dataclasses.replace(rules, rounds=rounds, target=options.target)
    except ValueError as error:
        raise ValueError(re.sub(r"^(rounds|target)=", r"--\1 ", str(error))) from None


def _check_writable(path: Path) -> None:
    """Say before the work begins that its result could not be written."""
    path = Path(os.path.realpath(path))  # where a link leads
    if path.is_dir():
        raise OSError(errno.EISDIR, "is a folder; name a file", str(path))
    if not path.parent.is_dir():
        raise OSError(errno.ENOENT, f"there is no folder {path.parent}; make it first", str(path))
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise OSError(errno.EACCES, "may not be written; name another file", str(path))


def _specs(text: str) -> list[str]:
    """The agents in "greedy,name:key=1,other=2,random": a comma before key= goes on with the options of an agent."""
    return re.split(r",(?!\w+=)", text)


def _rules_for(agent: agents.Agent, options: argparse.Namespace) -> sixnimmt.Rules:
    """One round of the variant asked for, else of the one that the agent was trained on, else the default."""
    policy = getattr(agent, "policy", None)
    trained = getattr(policy, "rules", sixnimmt.Rules())
    asked = {"num_players": options.players, "deck": options.deck, "professional": options.professional}
    changes = {key: value for key, value in asked.items() if value not in (None, getattr(trained, key))}
    if changes.keys() & {"num_players", "deck"}:
        changes["deck_size"] = None  # that of the training may not fit
    if (options.deck or trained.deck) == "logic" and (network := getattr(policy, "network", None)) is not None and not network.shape.draft:
        raise ValueError(f"{agent.name} was trained with the {trained.deck} deck and has not learned to draft: --deck logic is not for it")
    try:
        return dataclasses.replace(trained, rounds=1, target=None, exceed_target=False, **changes)
    except ValueError as error:
        raise ValueError(str(error).replace("num_players=", "--players ")) from None


def _analyze(options: argparse.Namespace) -> int:
    from sixnimmt_env.core.files import write_atomically

    from . import analyze
    from .console import SteadyConsole

    with _asked():
        for path in (options.plot, options.json):
            if path:
                _check_writable(path)
        view = _position(options)
        agent = agent_of(options.agent, seed=options.seed)
        prospects = agents.analyze(agent, view)
    console = SteadyConsole()
    console.print(sixnimmt.GAME.board(view), highlight=False, markup=False, soft_wrap=True)
    analyze.show(prospects, console)
    if options.plot:
        analyze.plot(options.plot, f"{agent.name} on {sixnimmt.GAME.board(view).splitlines()[0]}", prospects)
    if options.json:
        write_atomically(options.json, json.dumps(analyze.as_json(agent.name, prospects), indent=2) + "\n")
    return DONE


def _exploit(options: argparse.Namespace) -> int:
    from sixnimmt_env.core.files import write_atomically

    from . import config as configuration
    from . import exploit
    from .console import SteadyConsole

    console = SteadyConsole()
    with _asked():
        if options.json:
            _check_writable(options.json)
        agent = agent_of(options.agent, seed=options.seed + 2)
    if options.exact:
        with _asked():
            distances = _distances(options, console)
        if options.json:
            write_atomically(options.json, json.dumps(exploit.as_json(None, distances), indent=2) + "\n")
        return DONE
    from .callbacks import DivergedError
    from .train import free_folder

    with _asked():
        for name, value, least, most in (("minutes", options.minutes, 0.01, 10_000), ("rounds", options.rounds, 1, _MOST_ROUNDS)):
            if not least <= value <= most:
                raise ValueError(f"--{name} {value:g} must be from {least:g} to {most:,}")
        if not 1 <= options.games <= 1_000_000:
            raise ValueError(f"--games {options.games} must be from 1 to 1,000,000")
        config = configuration.Config(
            name="exploit",
            seed=options.seed,
            rules=dataclasses.asdict(_rules_for(agent, options)),
            opponents={options.agent: 1.0},
            training=configuration.Training(
                frames=10**12, max_minutes=options.minutes, games=options.games, minibatch=min(4096, 24 * options.games)
            ),
            evaluation=configuration.Evaluation(against=(options.agent,), rounds=options.rounds, seed=options.seed + 1000),
        )
    try:
        gain, interrupted = exploit.exploit(agent, options.agent, config, options.out or free_folder("exploit"), console)
    except (configuration.ConfigError, DivergedError) as error:
        raise Refusal(str(error)) from None
    low, high = gain.interval
    for line in (
        f"{gain.agent} among its equals   {gain.own:.2f} ± {gain.own_se:.2f} heads a match",
        f"the trained policy instead   {gain.response:.2f} ± {gain.response_se:.2f}",
        f"gain on equal deals   {gain.gain:.2f} ± {gain.se:.2f}, 95 % interval {low:.2f} to {high:.2f}",
        gain.verdict,
    ):
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    if options.json:
        write_atomically(options.json, json.dumps(exploit.as_json(gain, []), indent=2) + "\n")
    return INTERRUPTED if interrupted else DONE


def _distances(options: argparse.Namespace, console: Any) -> list[Any]:
    """The exact losses in small games, said as they come."""
    from . import exploit

    found = []
    for game in [options.small] if options.small else exploit.SMALL_GAMES:
        try:
            each = exploit.distance(options.agent, game)
        except ImportError as error:
            raise ValueError(f"--exact: {error}") from None
        console.print(f"{game}: equilibrium {each.value:.4f}, {options.agent} loses up to {each.loss:.4f}", highlight=False, soft_wrap=True)
        found.append(each)
    return found


def _position(options: argparse.Namespace) -> Any:
    """The view that is asked about; `ValueError` unless exactly one is given."""
    from . import analyze

    if (options.position is None) == (options.hand is None and options.rows is None):
        raise ValueError("give a position: POSITION.json, or --hand 3,17,40 --rows 5 20,22 60 80,81,82 (not both)")
    if options.position is None:
        if options.hand is None or options.rows is None:
            raise ValueError("a position needs both --hand and --rows: --hand 3,17,40 --rows 5 20,22 60 80,81,82")
        position = {
            "hand": analyze.cards(options.hand),
            "rows": [analyze.cards(row) for row in options.rows],
            "num_players": options.players,
            "seat": options.seat,
            "seen": analyze.cards(options.seen),
            "professional": options.professional,
            "deck": options.deck,
            "hand_size": options.hand_size,
        }
        if options.revealed is not None:
            position["revealed"] = analyze.revealed(options.revealed)
        return analyze.laid_out(position, "this position")
    if options.position.suffix == ".jsonl":
        if options.event is None:
            raise ValueError(f"--event N is needed: which moment of {options.position}; `sixnimmt replay {options.position}` lists them")
        return analyze.from_trace(options.position, options.event, options.seat)
    return analyze.from_json(options.position)


def _bench(options: argparse.Namespace) -> int:
    from . import bench

    if options.list:
        print(bench.listing())
        return DONE
    with _asked():
        names = bench.choose(options.names)
    return bench.main(names, options.json)


def _agents(options: argparse.Namespace) -> int:
    known = agents.names()
    width = max(map(len, known))
    for name, idea in known.items():
        _say(f"{name:<{width}}  {idea}", indent=width + 2)
    print()
    _say("Where an AGENT is asked for, the path of a run folder or of a policy file will do as well.")
    return DONE


def _rules(options: argparse.Namespace) -> int:
    rules = sixnimmt.Rules()
    if options.config is not None:
        from . import config as configuration

        with _asked():
            rules = configuration.load(options.config).rules
    for fact in rules.describe().splitlines():
        _say(fact)
    return DONE


def _say(line: str, indent: int = 0) -> None:
    """Print `line`, broken to the width of a terminal; whole where the output is none, so that other programs find it in one piece."""
    if sys.stdout.isatty():
        width = max(indent + 20, shutil.get_terminal_size().columns)
        line = textwrap.fill(line, width, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False)
    print(line)


def run() -> NoReturn:
    """The console script."""
    if sys.stdout is None or sys.stderr is None:  # closed by whoever started us
        nowhere = open(os.devnull, "w")  # noqa: SIM115 - for as long as the process lives
        sys.stdout, sys.stderr = sys.stdout or nowhere, sys.stderr or nowhere
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without the sign ± shows another one
    sys.exit(main())
