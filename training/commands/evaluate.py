"""`sixnimmt evaluate`."""

from __future__ import annotations

import argparse
from typing import Final

from sixnimmt_env.core.seeding import MAX_SEED

from ..plugin import agent_of, one_thread, rules_of, variant_note
from .common import AGENT, DONE, MOST_ROUNDS, add_json, add_variant, asked, check_writable, rules_for, specs, write_json

HELP: Final = "measure an agent against others"
DESCRIPTION: Final = """\
One seat plays AGENT, all others play the opponent. Every deal is played once from every seat, and the standard error is that of
independent deals. Fewer bull heads are better; `random` against `random` shows what luck alone gives.
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("agent", metavar="AGENT", help=AGENT)
    parser.add_argument("--against", required=True, metavar="AGENT[,AGENT...]", help="opponents; one evaluation each")
    add_variant(parser)
    parser.add_argument("--rounds", type=int, default=20_000, metavar="N", help="matches against each (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="of the deals and dice (default: %(default)s)")
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Evaluate."""
    from ..console import SteadyConsole, say
    from ..evaluate import as_json, evaluate, show

    with asked():
        if not 1 <= options.rounds <= MOST_ROUNDS:
            raise ValueError(f"--rounds {options.rounds} must be from 1 to {MOST_ROUNDS:,}")
        if not 0 <= options.seed <= MAX_SEED - 2:  # two more are the players' dice
            raise ValueError(f"--seed {options.seed} must be a whole number from 0 to {MAX_SEED - 2}")
        check_writable(options.json)
        agent = agent_of(options.agent, seed=options.seed + 1)
        field = [agent_of(spec, seed=options.seed + 2) for spec in specs(options.against)]
        rules = rules_for(agent, options)
    one_thread()
    console = SteadyConsole()
    notes = [note for player in (agent, *field) if (note := variant_note(player, rules))]
    trained = rules_of(agent)
    if trained is not None and trained.rounds != 1 and not variant_note(agent, rules):
        notes.append(f"Note: {agent.name} was trained on longer matches; single rounds are evaluated here.")
    for note in dict.fromkeys(notes):  # once where an agent plays against itself
        say(console, note)
    results = evaluate(agent, rules, field, options.rounds, options.seed, console)
    show(results, agent.name, console)
    write_json(options.json, as_json(agent.name, options.seed, results))
    return DONE
