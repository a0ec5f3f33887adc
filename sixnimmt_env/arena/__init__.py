"""Matches between agents: many on equal deals, or one that is recorded."""

from .match import Games, Strength, against_field, block_mean, play
from .record import record

__all__ = ["Games", "Strength", "against_field", "block_mean", "play", "record"]
