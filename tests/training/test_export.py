"""Policies as ONNX files: that they compute what torch does, for any batch, and what is said when it cannot be done."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from sixnimmt_env import games
from sixnimmt_env.games.sixnimmt import GAME, LAYOUT, Rules
from tests.training.small import ATTENTION, DRAFT, DRAFTING_ATTENTION, PLAIN, encoded, legal, mixture, network
from training import export, policy
from training.cli import main
from training.export import INPUTS, OUTPUTS, TOLERANCE, Dense
from training.network import Shape

SHAPES = pytest.mark.parametrize("shape", [PLAIN, DRAFT, Shape(hidden=5, layers=1), ATTENTION, DRAFTING_ATTENTION], ids=str)


@pytest.fixture(scope="module")
def packages() -> None:
    for name in export.PACKAGES:
        pytest.importorskip(name, reason=f"needs {name}, of the extra onnx")


def made(shape: Shape) -> policy.Policy:
    rules = Rules(num_players=3, deck="logic") if shape.draft else Rules(num_players=5, professional=True)
    return policy.Policy(GAME, rules, network(shape).eval(), {"name": "small"})


def session(content: bytes) -> Any:
    import onnxruntime

    return onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])


@SHAPES
def test_the_dense_form_is_the_network(shape: Shape) -> None:
    """Needs no package: decisions of every kind, with what empty slots hold replaced by noise."""
    scorer, views = network(shape), mixture(shape)
    observations, mask = encoded(views, shape), legal(views)

    hand = LAYOUT.lines(observations, "hand")
    present = LAYOUT["hand"].indices().present
    empty = hand[..., present] == 0
    hand[empty] = torch.rand(int(empty.sum()), hand.shape[-1])
    hand[..., present][empty] = 0.0
    scorer.standardise(observations)
    with torch.inference_mode():
        logits, values = scorer(observations)
        logs, dense_values = Dense(scorer)(observations, mask.to(torch.int8))
    wanted = torch.log_softmax(logits.masked_fill(~mask, -1e8), dim=1)
    torch.testing.assert_close(logs[mask], wanted[mask], atol=TOLERANCE, rtol=TOLERANCE)
    torch.testing.assert_close(dense_values, values, atol=TOLERANCE, rtol=TOLERANCE)
    assert (logs.exp()[~mask] == 0).all()


@pytest.mark.usefixtures("packages")
@SHAPES
def test_the_file_computes_what_torch_does(shape: Shape) -> None:
    learned = made(shape)
    content = export.pack(learned)
    views = mixture(shape)
    observations, masks = encoded(views, shape).numpy(), legal(views).numpy().astype(np.int8)
    assert export.deviation(learned, content, observations, masks) <= TOLERANCE
    running = session(content)
    for count in (1, 2, 7):
        logs, values = running.run(list(OUTPUTS), {INPUTS[0]: observations[:count], INPUTS[1]: masks[:count]})
        assert (logs.shape, values.shape) == ((count, 113), (count,))
        np.testing.assert_allclose(np.exp(logs).sum(axis=1), 1.0, rtol=1e-5)
        agent = policy.LearnedAgent(learned, "x")
        assert logs.argmax(axis=1).tolist() == agent.act(views[:count]).tolist()
    assert [(one.name, one.type, one.shape[1:]) for one in running.get_inputs()] == [
        ("observation", "tensor(float)", [shape.observation_size]),
        ("action_mask", "tensor(int8)", [113]),
    ]
    assert [one.shape[0] for one in running.get_inputs()] == ["batch", "batch"]


@pytest.mark.usefixtures("packages")
def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    learned = made(PLAIN)
    policy.save(tmp_path, learned.network, learned.game, learned.rules, learned.training)
    assert main(["export", str(tmp_path), str(tmp_path / "x.onnx")]) == 0
    said = capsys.readouterr()
    assert "differs from torch by " in said.out
    assert not said.err
    assert sorted(os.listdir(tmp_path)) == ["policy.json", "policy.safetensors", "x.onnx"]
    content = (tmp_path / "x.onnx").read_bytes()
    about = session(content).get_modelmeta().custom_metadata_map
    assert (about["game"], about["layout"], about["observation_size"]) == ("sixnimmt", str(GAME.layout.version), str(GAME.compact_size))
    assert games.get(about["game"]).rules(**json.loads(about["rules"])) == learned.rules
    assert json.loads(about["training"]) == {"name": "small"}
    assert str(Path(export.__file__).parent).encode() not in content, "nothing of this machine"


@pytest.mark.usefixtures("packages")
def test_what_differs_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("training.export.deviation", lambda *_: float("nan"))
    with pytest.raises(export.ExportError, match="nothing was written"):
        export.export(made(PLAIN), tmp_path / "x.onnx")
    assert not list(tmp_path.iterdir())


def test_packages_that_are_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    learned = made(PLAIN)
    policy.save(tmp_path, learned.network, learned.game, learned.rules, learned.training)
    monkeypatch.setattr("training.export.find_spec", lambda name: None if name == "onnxruntime" else sys)
    assert main(["export", str(tmp_path), str(tmp_path / "x.onnx")]) == 2
    said = capsys.readouterr().err
    assert said == "sixnimmt: onnxruntime not installed, which the export needs: python -m pip install 'sixnimmt-env[onnx]'\n"


def test_asked_wrongly(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, words in {
        f"{tmp_path}/nowhere {tmp_path}/x.onnx": "nowhere: there is no run folder or policy file of that path",
        f"{tmp_path} {tmp_path}/x.pt": "x.pt must end in .onnx",
        f"{tmp_path} {tmp_path}/no/x.onnx": "there is no folder",
    }.items():
        assert main(["export", *arguments.split()]) == 2
        assert words in capsys.readouterr().err
