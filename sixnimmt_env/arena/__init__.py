"""Matches between agents: many on equal deals, tournaments with what their results say, or one match that is recorded."""

from .forfeit import Forfeits, OutOfTime
from .match import Games, Strength, against_field, block_mean, play
from .record import record
from .results import Results, Standing, as_data, compared, summarise, timing
from .schedule import Schedule, cross_play, gauntlet, head_to_head, one_vs_field, round_robin
from .sequential import UntilDecided
from .tournament import Entrant, Plan, Played, Progress, WorkerDied, hold

__all__ = [
    "Entrant",
    "Forfeits",
    "Games",
    "OutOfTime",
    "Plan",
    "Played",
    "Progress",
    "Results",
    "Schedule",
    "Standing",
    "Strength",
    "UntilDecided",
    "WorkerDied",
    "against_field",
    "as_data",
    "block_mean",
    "compared",
    "cross_play",
    "gauntlet",
    "head_to_head",
    "hold",
    "one_vs_field",
    "play",
    "record",
    "round_robin",
    "summarise",
    "timing",
]
