"""Matches between agents on equal deals."""

from .match import Games, Strength, against_field, block_mean, play

__all__ = ["Games", "Strength", "against_field", "block_mean", "play"]
