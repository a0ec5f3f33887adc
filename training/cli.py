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

from sixnimmt_env import __version__, agents
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
        return _refuse(f"{error.name} is not installed: pip install 'sixnimmt-env[train]'")
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

    bench = command("bench", _bench, "measure speed beside in-repo baselines", _BENCH)
    bench.add_argument("names", nargs="*", metavar="NAME", help="benchmarks to run (default: all)")
    bench.add_argument("--list", action="store_true", help="list the benchmarks, one line each, and stop")
    bench.add_argument("--json", type=Path, metavar="FILE", help="write the results as JSON")

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


_TRAIN = """\
Train the policy that CONFIG.yaml describes, then evaluate it. Every key has a default; configs/quickstart.yaml explains them all.
Ctrl-C stops in good order: the policy so far is saved, and the exit status is 130.
"""
_EVALUATE = """\
One seat plays AGENT, all others play the opponent. Every deal is played once from every seat, and the standard error is that of
independent deals. Fewer bull heads are better; `random` against `random` shows what luck alone gives.
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
    from .console import SteadyConsole
    from .evaluate import as_json, evaluate, show
    from .files import write_atomically

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
    if (options.deck or trained.deck) == "logic" and policy is not None and not policy.network.shape.draft:
        raise ValueError(f"{agent.name} was trained with the {trained.deck} deck and has not learned to draft: --deck logic is not for it")
    try:
        return dataclasses.replace(trained, rounds=1, target=None, exceed_target=False, **changes)
    except ValueError as error:
        raise ValueError(str(error).replace("num_players=", "--players ")) from None


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
