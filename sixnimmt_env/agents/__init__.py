"""Players: `make(spec)` gives one, `names()` lists them. An agent has `act(views) -> actions`, in batches, and `reset(seed)`."""

from .analysis import Prospect, Searcher, analyze
from .base import Agent, HeuristicAgent, as_views, decide, name_of
from .registry import make, names

__all__ = ["Agent", "HeuristicAgent", "Prospect", "Searcher", "analyze", "as_views", "decide", "make", "name_of", "names"]
