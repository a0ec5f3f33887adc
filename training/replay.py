"""A recorded match told in words: what `sixnimmt replay` does. Works on a trace of any game."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sixnimmt_env.core.trace import Step, Trace


def summary(trace: Trace, name: str) -> str:
    """What the file `name` holds, in one line."""
    return f"{name}: verified, {len(trace)} events of {trace.game.name}, {len(trace.players)} players, {trace.outcome}"


def tell(trace: Trace, explain: bool = False, board: bool = False, start: int = 0) -> Iterator[str]:
    """The match in lines, one an event, under headings for rounds and turns.

    Args:
        trace: what to tell.
        explain: with the reason that the rules give.
        board: with the board, all hands open, at the start of every turn and at the end.
        start: the event to begin with.
    """
    yield from _opening(trace)
    step = None
    for step in trace.steps():
        if step.number < start:
            continue
        yield from _heading(step, board)
        yield line(trace, step, explain)
    if board and step is not None:
        yield f"\n{step.board()}"
    yield from _closing(trace)


def walk(trace: Trace, ask: Callable[[str], str], explain: bool = False, start: int = 0) -> Iterator[str]:
    """As `tell`, with the board after every event; `ask`, as `input`, waits for the line that goes on: empty, or "q" to stop."""
    yield from _opening(trace)
    for step in trace.steps():
        if step.number < start:
            continue
        yield from _heading(step, board=False)
        yield f"{line(trace, step, explain)}\n\n{step.board()}\n"
        if step.number + 1 < len(trace):
            try:
                answer = ask(f"event {step.number} of {len(trace) - 1}; Enter goes on, q stops: ")
            except EOFError:
                answer = "q"
            if answer.strip().lower().startswith("q"):
                yield ""
                return
    yield from _closing(trace)


def line(trace: Trace, step: Step, explain: bool) -> str:
    """The number of the event and its words."""
    return f"{step.number:>{len(str(len(trace) - 1))}}  {step.explain() if explain else step.tell()}"


def _opening(trace: Trace) -> Iterator[str]:
    yield from trace.rules.describe().splitlines()
    yield f"Seed {trace.seed}, game {trace.number}; " + ", ".join(
        name if name == f"player_{seat}" else f"player_{seat}: {name}" for seat, name in enumerate(trace.players)
    )


def _heading(step: Step, board: bool) -> Iterator[str]:
    if step.heading:
        yield f"\n--- {step.heading} ---"
        if board and step.is_decision:
            yield f"{step.board_before()}\n"


def _closing(trace: Trace) -> Iterator[str]:
    totals = ", ".join(f"player_{seat} {total}" for seat, total in enumerate(trace.totals))
    yield f"\n{trace.outcome}; totals: {totals}"
