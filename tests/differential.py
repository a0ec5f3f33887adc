"""The engine and the slow reference side by side, over random legal play of every variant.

    python -m tests.differential --turns 1000000 --seed 0

Games of different rules lie in one batch. Random subsets of them move, some seats at once (`step`), some one by one
(`commit`); after every decision the two positions must be equal. The deals are the engine's: the reference takes them
over, and refuses one that is not legal. A difference is printed with the numbers that lead there again.
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sixnimmt_env.core.game import FINISHED, ILLEGAL, SCORED
from sixnimmt_env.games.sixnimmt import Rules, engine, view, winners
from sixnimmt_env.games.sixnimmt.state import NUM_ACTIONS, PHASES, new_states
from tests.reference import DECKS, FRONT_ACTION, ROW_ACTION, ReferenceGame, RuleError, heads_of

Options = dict[str, Any]

SEATS = 10
FORMS: dict[str, Options] = {
    "one round": {"rounds": 1},
    "several rounds": {"rounds": 3},
    "target reached": {"rounds": None, "target": 66},
    "target exceeded": {"rounds": None, "target": 66, "exceed_target": True},
}
LEGAL_HELP = "compare legal actions in one of K positions in which cards are picked or drafted, and in all others (default %(default)s)"
BATCH_TURNS = 20_000
BATCH_SLOTS = 64
PADDING = [[0] * length for length in range(SEATS + 1)]
BITS = [1 << card for card in range(128)]
LOW_WORD = 2**64 - 1

# The engine deals the next round at once and knows no time between rounds; it stands here for the messages.
PHASE_NAMES = (*PHASES, "round_over")

FIELDS = (
    *("phase", "to_act", "turn", "round", "totals", "penalties", "rows", "row_len", "row_heads", "hands", "seen"),
    *("revealed", "order", "placed", "took"),
)
"""What is compared, in the shape that the engine keeps it in; `revealed`, `order`, `placed` and `took` are those of the latest turn."""


class Mismatch(AssertionError):
    """The two disagree. The message shows both positions and how to come there again."""


# --- what is played ----------------------------------------------------------------------------------------------------


def full_variants() -> list[Options]:
    """Every deck, with and without professional, every number of players, every form of match: 216 of them."""
    kinds = itertools.product(DECKS, (False, True), range(2, SEATS + 1), FORMS.values())
    return [{"deck": deck, "professional": pro, "num_players": players, **form} for deck, pro, players, form in kinds]


def small_variant(rng: random.Random) -> Options:
    """A game of other sizes than the box: fewer cards, rows or places, which meets choices and full rows far more often."""
    options: Options = {"deck": rng.choice(DECKS), "professional": rng.random() < 0.5, "num_players": rng.randint(2, SEATS)}
    options |= {"hand_size": rng.randint(1, 10), "num_rows": rng.randint(1, 4), "row_capacity": rng.randint(1, 5)}
    options |= rng.choice(list(FORMS.values()))
    if options["rounds"] is None:
        options["target"] = rng.randint(1, 30)
    dealt = options["num_players"] * options["hand_size"] + options["num_rows"]
    if options["deck"] == "standard":
        options["deck_size"] = rng.choice([dealt, rng.randint(dealt, 104), 104])
    return options


def endless_variants(rng: random.Random) -> Iterator[Options]:
    """All full variants in a random order, a small one after every second, targets that are met exactly now and then; for ever."""
    while True:
        variants = full_variants()
        rng.shuffle(variants)
        for number, options in enumerate(variants):
            if options["rounds"] is None and rng.random() < 0.5:
                options["target"] = rng.randint(1, 66)
            yield options
            if number % 2:
                yield small_variant(rng)


# --- what was met ------------------------------------------------------------------------------------------------------


@dataclass
class Tally:
    """Counts of what was compared; tallies of several batches add up."""

    turns: int = 0
    games: int = 0
    decisions: int = 0
    seats_asked: int = 0  # whose legal actions were compared
    rows_chosen: Counter[int] = field(default_factory=Counter)
    sides_chosen: Counter[str] = field(default_factory=Counter)
    variants: Counter[tuple[Any, ...]] = field(default_factory=Counter)  # turns, full sizes only
    small_turns: int = 0

    def add(self, other: Tally) -> None:
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)

    def count_turn(self, options: Options) -> None:
        self.turns += 1
        if "hand_size" in options:
            self.small_turns += 1
        else:
            self.variants[variant_key(options)] += 1

    def report(self, seconds: float) -> str:
        rows, sides = self.rows_chosen, self.sides_chosen
        by_row = ", ".join(f"{rows[row]:,}" for row in range(4))
        return (
            f"{self.turns:,} turns compared in {seconds:,.0f} s ({self.turns / max(seconds, 1e-9):,.0f} a second): "
            f"{self.games:,} games begun, {self.decisions:,} positions, the legal actions of {self.seats_asked:,} seats; "
            f"{len(self.variants)} of {len(full_variants())} variants, {self.small_turns:,} turns at small tables; "
            f"{rows.total():,} row choices ({by_row} by row), "
            f"{sides.total():,} ties ({sides['end']:,} end, {sides['front']:,} front)"
        )


def variant_key(options: Options) -> tuple[Any, ...]:
    form = (options["rounds"], options["rounds"] is None, options.get("exceed_target", False))
    return (options["deck"], options["professional"], options["num_players"], *form)


# --- positions ---------------------------------------------------------------------------------------------------------


def engine_positions(states: NDArray[np.void], index: NDArray[np.int64]) -> list[tuple[Any, ...]]:
    """FIELDS of the games `index`, as plain lists."""
    seats = np.zeros(len(index), dtype=np.uint16)
    engine.to_act(states, index, seats)
    games = states[index]
    table = games["table"]
    columns = [table["phase"], seats, table["turn"], table["round_index"], table["totals"], table["penalties"], table["rows"]]
    columns += [table["row_len"], table["row_heads"], games["hands"], table["seen"]]
    columns += [table["last"], table["order"], table["placed"], table["took"]]
    return list(zip(*(column.tolist() for column in columns), strict=True))


def words(mask: int) -> list[int]:
    return [mask & LOW_WORD, mask >> 64]


def reference_position(game: ReferenceGame) -> tuple[Any, ...]:
    """FIELDS of the reference."""
    seat_padding = PADDING[SEATS - game.num_players]
    hands = [sum([BITS[card] for card in hand]) for hand in game.hands]
    seen = sum([BITS[card] for card in game.cards]) - sum(hands) - sum([BITS[card] for card in game.pool + game.stock])
    rows = [row + PADDING[5 - len(row)] for row in game.rows]
    return (
        PHASE_NAMES.index(game.phase),
        sum([1 << seat for seat in game.to_act()]),
        game.turn,
        game.rounds_played,
        game.totals + seat_padding,
        game.penalties + seat_padding,
        rows + [PADDING[5]] * (4 - len(rows)),
        [len(row) for row in game.rows] + PADDING[4 - len(rows)],
        [heads_of(row) for row in game.rows] + PADDING[4 - len(rows)],
        [words(hand) for hand in hands] + [[0, 0]] * len(seat_padding),
        words(seen),
        [game.revealed.get(seat, 0) for seat in range(SEATS)],
        sorted(game.revealed, key=game.revealed.__getitem__) + PADDING[SEATS - len(game.revealed)],
        len(game.revealed) - len(game.unplaced),
        game.took + seat_padding,
    )


def as_cards(hand: Sequence[int]) -> list[int]:
    mask = hand[0] | hand[1] << 64
    return [card for card in range(128) if mask >> card & 1]


def show(name: str, value: Any) -> str:
    if name == "hands":
        return str([as_cards(hand) for hand in value])
    if name == "seen":
        return str(as_cards(value))
    return PHASE_NAMES[value] if name == "phase" else str(value)


# --- play --------------------------------------------------------------------------------------------------------------


class Lockstep:
    """A batch of engine games with the reference of each.

    Args:
        variants: the options of one game after the other; a slot whose game is over takes the next, until there are no more.
        rng: of the play; the deals follow from a seed drawn from it.
        slots: games in the batch.
        legal_every: the legal actions of all seats are compared in one of so many positions in which cards are picked or drafted, and
            whenever a row or a side is chosen.
        place: said in the message of a mismatch.
    """

    def __init__(self, variants: Iterator[Options], rng: random.Random, slots: int, legal_every: int = 1, place: str = "") -> None:
        self.variants = variants
        self.rng = rng
        self.legal_every = legal_every
        self.place = place
        self.tally = Tally()
        self.seed = rng.getrandbits(62)
        self.states = new_states(Rules(), slots)
        self.games = [ReferenceGame(num_players=2) for _ in range(slots)]
        self.options: list[Options] = [{} for _ in range(slots)]
        self.codes: dict[int, int] = {}  # what the last `commit` of a decision answered
        self.live: list[int] = []
        for slot in range(slots):
            self._begin(slot)

    def run(self, turns: int | None = None) -> Tally:
        """Play until nothing is left, or at least `turns` turns are compared."""
        while self.live and (turns is None or self.tally.turns < turns):
            self.advance()
        return self.tally

    def advance(self) -> None:
        """One decision in some of the games, in any order, then the comparison."""
        rng = self.rng
        chosen = self.live if rng.random() < 0.25 else rng.sample(self.live, rng.randint(1, len(self.live)))
        moves = {slot: {seat: self._choose(slot, seat) for seat in self.games[slot].to_act()} for slot in chosen}
        bystanders = sorted(set(range(len(self.states))) - set(chosen))
        # As bytes: copies of records leave out what lies between their fields.
        raw = self.states.view(np.uint8).reshape(len(self.states), -1)
        untouched = raw[bystanders]
        self.codes.clear()
        joint = [slot for slot in chosen if rng.random() < 0.5 or not self._commit(slot, moves[slot])]
        self._step(joint, moves)
        if not np.array_equal(raw[bystanders], untouched):
            raise Mismatch(f"{self.place}: a game has changed that was not to move")
        for slot in chosen:
            self._follow(slot, moves[slot])
        self._compare(chosen)
        for slot in chosen:
            if self.games[slot].phase == "over":
                self._finish(slot)

    def _begin(self, slot: int) -> None:
        """Start the next game in the slot, if there is one."""
        options = next(self.variants, None)
        if options is None:
            return
        self.states[slot] = new_states(Rules(**options), 1, self.seed, self.tally.games)[0]
        engine.deal(self.states, np.array([slot]))
        self.options[slot] = options
        self.games[slot] = ReferenceGame(**options)
        self._take_over_deal(slot)
        self.tally.games += 1
        self.live = [*self.live, slot]
        self._compare([slot])

    def _finish(self, slot: int) -> None:
        won = winners(self.states["table"]["totals"][slot, : self.games[slot].num_players].tolist())
        if won != self.games[slot].winners():
            self._fail(slot, f"the winners are {won}, not {self.games[slot].winners()}")
        self.live = [other for other in self.live if other != slot]
        self._begin(slot)

    def _take_over_deal(self, slot: int) -> None:
        game = self.games[slot]
        if game.deck == "logic":
            game.start_draft()
            return
        hands = [as_cards(hand) for hand in self.states["hands"][slot, : game.num_players].tolist()]
        lengths = self.states["table"]["row_len"][slot].tolist()
        rows = [row[:length] for row, length in zip(self.states["table"]["rows"][slot].tolist(), lengths, strict=True) if length]
        try:
            game.start_round(hands, rows)
        except RuleError as error:
            self._fail(slot, f"no legal deal: {error}")

    def _choose(self, slot: int, seat: int) -> int:
        """Any legal action; now and then a low card, or one that ties, so that choices come up often."""
        game, rng = self.games[slot], self.rng
        legal = game.legal(seat)
        if game.phase == "pick" and rng.random() < 0.15:
            if game.professional:
                legal = [action for action in legal if len(game.spots(action + 1)) != 1] or legal
            else:
                legal = legal[:1]
        return legal[int(rng.random() * len(legal))]

    def _commit(self, slot: int, moves: dict[int, int]) -> bool:
        """Let seats act one by one in random order; returns False if some are left for a joint step."""
        waiting = list(moves)
        self.rng.shuffle(waiting)
        left = self.rng.randrange(len(waiting)) if self.rng.random() < 0.25 else 0
        while len(waiting) > left:
            seat = waiting.pop()
            self.codes[slot] = engine.commit(self.states, slot, seat, moves[seat])
            if self.codes[slot] == ILLEGAL:
                self._fail(slot, f"the engine refuses action {moves[seat]} of seat {seat}")
            if waiting and self.codes[slot] != min(waiting):
                self._fail(slot, f"commit answers {self.codes[slot]} while seats {sorted(waiting)} are to act")
        return left == 0

    def _step(self, joint: list[int], moves: dict[int, dict[int, int]]) -> None:
        # Entries of seats that do not decide are to be ignored: here they hold what is illegal for most.
        actions = np.full((len(joint), SEATS), self.rng.choice([-1, 0, 50, 112, 2**40]), dtype=np.int64)
        for k, slot in enumerate(joint):
            self.codes.pop(slot, None)
            for seat, action in moves[slot].items():
                actions[k, seat] = action
        illegal = np.full(len(joint), 2**16 - 1, dtype=np.uint16)
        engine.step(self.states, np.array(joint, dtype=np.int64), actions, illegal)
        for slot, bits in zip(joint, illegal.tolist(), strict=True):
            if bits:
                self._fail(slot, f"the engine refuses the actions {moves[slot]} (bits {bits:b})")

    def _follow(self, slot: int, moves: dict[int, int]) -> None:
        """Let the reference do the same, and hold the answer of `commit` against it."""
        game = self.games[slot]
        self._count_choice(game, moves)
        heads, drafted = sum(game.totals), game.phase == "draft"
        game.apply(moves)
        if not drafted and game.phase in ("pick", "round_over", "over"):
            self.tally.count_turn(self.options[slot])
        expected = SCORED if sum(game.totals) != heads else 0
        if game.phase == "round_over":
            self._take_over_deal(slot)
        expected |= FINISHED if game.phase == "over" else game.to_act()[0]
        if self.codes.get(slot, expected) != expected:
            self._fail(slot, f"commit answers {self.codes[slot]}, not {expected}")

    def _count_choice(self, game: ReferenceGame, moves: dict[int, int]) -> None:
        [action, *_] = moves.values()
        if game.phase == "row":
            self.tally.rows_chosen[action - ROW_ACTION] += 1
        elif game.phase == "side":
            self.tally.sides_chosen["front" if action >= FRONT_ACTION else "end"] += 1

    # Comparing

    def _compare(self, slots: Sequence[int]) -> None:
        self.tally.decisions += len(slots)
        found = engine_positions(self.states, np.array(slots, dtype=np.int64))
        for slot, position in zip(slots, found, strict=True):
            if position != reference_position(self.games[slot]):
                self._fail(slot, "the positions differ")
        asked = [slot for slot in slots if self.games[slot].phase in ("row", "side") or self.rng.random() * self.legal_every < 1]
        if asked:
            self._compare_legal(asked)

    def _compare_legal(self, slots: Sequence[int]) -> None:
        """The legal actions of every seat, as its view has them."""
        pairs = [(slot, seat) for slot in slots for seat in range(self.games[slot].num_players)]
        views = np.zeros(len(pairs), dtype=view.VIEW)
        masks = np.ones((len(pairs), NUM_ACTIONS), dtype=np.int8)
        games, seats = np.array(pairs).T
        view.reveal(self.states, games, seats, views)
        view.legal(views, masks)
        lines, actions = np.nonzero(masks)
        found = np.split(actions, np.searchsorted(lines, np.arange(1, len(pairs))))
        for (slot, seat), legal in zip(pairs, found, strict=True):
            if legal.tolist() != self.games[slot].legal(seat):
                self._fail(slot, f"legal for seat {seat}: {legal.tolist()}, not {self.games[slot].legal(seat)}")
        self.tally.seats_asked += len(pairs)

    def _fail(self, slot: int, what: str) -> None:
        """Show both positions."""
        game = self.games[slot]
        lines = [f"{self.place}, game {int(self.states['game'][slot])}, round {game.rounds_played}, turn {game.turn}: {what}"]
        lines.append(f"  rules: {self.options[slot]}")
        [found] = engine_positions(self.states, np.array([slot]))
        expected = reference_position(game)
        for name, one, other in zip(FIELDS, found, expected, strict=True):
            mark = " " if one == other else "!"
            lines.append(f"{mark} {name:<10} engine    {show(name, one)}")
            lines.append(f"{mark} {name:<10} reference {show(name, other)}")
        raise Mismatch("\n".join(lines))


# --- the command -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Job:
    """A batch of the command: what it plays follows from these numbers."""

    seed: int
    batch: int
    turns: int
    legal_every: int


def play(job: Job) -> Tally | str:
    """The tally of a batch, or the message of its mismatch."""
    rng = random.Random(f"{job.seed} {job.batch}")
    place = f"seed {job.seed}, batch {job.batch}"
    try:
        return Lockstep(endless_variants(rng), rng, BATCH_SLOTS, job.legal_every, place).run(job.turns)
    except Mismatch as mismatch:
        again = f"--seed {job.seed} --batch {job.batch} --turns {job.turns} --legal-every {job.legal_every}"
        return f"{mismatch}\nagain: python -m tests.differential {again}"


def jobs_of(options: argparse.Namespace) -> list[Job]:
    if options.batch is not None:
        return [Job(options.seed, options.batch, min(options.turns, BATCH_TURNS), options.legal_every)]
    count = -(-options.turns // BATCH_TURNS)
    return [Job(options.seed, batch, min(options.turns, BATCH_TURNS), options.legal_every) for batch in range(count)]


def results(jobs: Sequence[Job], workers: int) -> Iterator[Tally | str]:
    if workers == 1:
        yield from map(play, jobs)
        return
    with multiprocessing.get_context("spawn").Pool(workers) as pool:
        yield from pool.imap_unordered(play, jobs)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    summary, _, details = str(__doc__).partition("\n\n")
    parser = argparse.ArgumentParser(
        prog="python -m tests.differential", description=summary, epilog=details, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--turns", type=int, default=100_000, help="complete turns to compare, at least (default %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="everything follows from it (default %(default)s)")
    parser.add_argument("--workers", type=int, default=1, help="processes (default %(default)s)")
    parser.add_argument("--legal-every", type=int, default=8, metavar="K", help=LEGAL_HELP)
    parser.add_argument("--batch", type=int, help="play this batch of the seed only, to see a mismatch again")
    options = parser.parse_args(arguments)
    for name in ("turns", "workers", "legal_every"):
        if getattr(options, name) < 1:
            parser.error(f"--{name.replace('_', '-')} must be at least 1")
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    jobs = jobs_of(options)
    start, shown, tally = time.monotonic(), 0.0, Tally()
    for number, result in enumerate(results(jobs, options.workers), start=1):
        if isinstance(result, str):
            print(result)
            return 1
        tally.add(result)
        seconds = time.monotonic() - start
        # On a terminal the line renews itself; in a file a line a minute is enough.
        if sys.stderr.isatty() or seconds - shown > 60:
            shown = seconds
            line = f"{tally.turns:,} turns, {number} of {len(jobs)} batches, {seconds:,.0f} s"
            print(line, end="\r" if sys.stderr.isatty() else "\n", file=sys.stderr, flush=True)
    print(tally.report(time.monotonic() - start))
    print("no difference")
    return 0


if __name__ == "__main__":
    sys.exit(main())
