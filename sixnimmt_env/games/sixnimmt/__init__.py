"""6 nimmt!: the game for every API, and functions to check a position by hand."""

from ...core.game import Game, Heuristic
from . import autoplay, engine, features, heuristics, picture, playouts, state, story, text, view
from .position import TurnResult, play_turn, read_view, table_view
from .rules import DECKS, MAX_SEATS, IllegalMove, Rules, bull_heads, deck, draft_order, extent, match_over, winners

GAME = Game(
    name="sixnimmt",
    home=__name__,
    rules=Rules,
    max_seats=MAX_SEATS,
    num_actions=state.NUM_ACTIONS,
    wait=state.ACTION_WAIT,
    actions=state.ACTIONS,
    state_dtype=state.STATE,
    view_dtype=view.VIEW,
    layout=features.LAYOUT,
    compact_size=features.COMPACT_SIZE,
    heuristics={name: Heuristic(*entry) for name, entry in heuristics.DESCRIPTIONS.items()},
    new_states=state.new_states,
    deal=engine.deal,
    deal_as=engine.deal_as,
    extent=extent,
    to_act=engine.to_act,
    step=engine.step,
    commit=view.commit,
    abandon=engine.abandon,
    reveal=view.reveal,
    reveal_all=view.reveal_all,
    imagine=view.imagine,
    disguise=view.disguise,
    dice=view.dice,
    legal=view.legal,
    encode=features.encode,
    act=heuristics.act,
    expect=heuristics.expect,
    playouts=playouts.playouts,
    stats=playouts.STATS,
    costs=state.costs,
    board=text.board,
    picture=picture.picture,
    action_name=text.action_name,
    begin=story.begin,
    unfold=story.unfold,
    tell=text.tell,
    explain=text.explain,
    play_on=autoplay.play_on,
    show_all=features.show_all,
    play_all=features.play_all,
)

LAYOUT = features.LAYOUT

__all__ = [
    "DECKS",
    "GAME",
    "LAYOUT",
    "IllegalMove",
    "Rules",
    "TurnResult",
    "bull_heads",
    "deck",
    "draft_order",
    "match_over",
    "play_turn",
    "read_view",
    "table_view",
    "winners",
]
