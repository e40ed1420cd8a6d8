"""Webformer: trees of sections and blocks, five losses as computed by hand, and a text encoder that any training starts from."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
import torch
from structformer import read
from structformer.document import Section
from structformer.errors import ModelError
from structformer.models import RankerOptions, ranker_kind
from structformer.models.loading import load_encoder, load_tokenizer
from structformer.models.scratch import make_scratch_model
from structformer.training.objectives.masked import MaskedHead, Masker

from conftest import write_pages
from structformer_webformer.batches import batch_of, draw_masked, shuffled_batches
from structformer_webformer.model import Webformer, child_order, masked_node, matching
from structformer_webformer.pretraining import PretrainingOptions, pretrain
from structformer_webformer.trees import Branch, Inner, Text, branch_of, trees_of

PAGE = """# The boat

A boat floats.

- one oar
- two oars

  | a | b |
  |---|---|
  | 1 | 2 |

## Care

Dry it.
"""


def numbered(texts: list[str]) -> list[list[int]]:
    """A token for each word: its length and its first letter, so that a test can read it."""
    return [[len(word) * 1000 + ord(word[0]) for word in text.split()] for text in texts]


def words(count: int, start: str = "x") -> str:
    return " ".join([start] * count)


def test_sections_and_blocks_become_branches_with_tags():
    [document] = read(PAGE.encode(), format="markdown")
    found = [(branch.tag, branch.text) for branch in branch_of(document.root).walk()]
    assert found[:4] == [("The boat", ""), ("paragraph", "A boat floats."), ("list", ""), ("item", "one oar")]
    assert ("cell", "2") in found
    assert found[-2:] == [("Care", ""), ("paragraph", "Dry it.")]


def test_a_short_document_is_one_text_between_its_tags():
    root = Branch("the boat", children=[Branch("paragraph", "a b"), Branch("care", children=[Branch("code", "c")])])
    [tree] = trees_of(root, numbered, longest=20, largest=100)
    assert isinstance(tree, Text)
    assert [token % 1000 for token in tree.ids] == [ord(c) for c in "t b p a b p c c c c c t b".split()]
    assert tree.types == (1, 1, 1, 0, 0, 2, 1, 1, 0, 2, 2, 2, 2)
    assert trees_of(root, numbered, longest=13, largest=100) == [tree]
    assert trees_of(Branch("a", "b c"), numbered, longest=20, largest=100) == []  # four tokens


def test_what_is_larger_becomes_nodes_of_at_most_ten_children():
    root = Branch("t", children=[Branch("p", words(5)) for _ in range(23)] + [Branch("p", "x")])
    trees = trees_of(root, numbered, longest=20, largest=1000)
    assert [len(tree.children) for tree in trees] == [10, 10, 3]  # the last one's four tokens are too few
    assert all(tree.tag == (1000 + ord("t"),) and tree.height == 1 for tree in trees)
    assert {child.size for tree in trees for child in tree.children} == {7}
    by_size = trees_of(root, numbered, longest=20, largest=30)
    assert [tree.size for tree in by_size] == [28, 28, 28, 28, 28, 21]
    [pieces] = trees_of(Branch("p", words(50)), numbered, longest=20, largest=1000)
    assert [child.size for child in pieces.children] == [20, 20, 16]


def test_a_deeper_document_becomes_several_trees():
    def over(tag: str, *children: Branch) -> Branch:
        return Branch(tag, children=list(children))

    def leaf() -> Branch:
        return Branch("p", words(9))

    deep = over("a", over("b", over("c", leaf(), leaf()), leaf()), leaf(), leaf())
    [above, below] = trees_of(deep, numbered, longest=15, largest=1000)
    # b stands over c and over texts, which is as much as a tree holds; a is left with its own texts.
    assert [child.height for child in below.children] == [1, 0]
    assert below.tag == (1000 + ord("b"),)
    assert [child.height for child in above.children] == [0, 0]
    hostile = leaf()
    for _ in range(5000):
        hostile = over("d", hostile, leaf())
    assert sum(tree.size for tree in trees_of(hostile, numbered, longest=15, largest=1000)) == 5001 * 11


def test_batches_hold_every_tree_once():
    def text(size: int) -> Text:
        return Text((1,) * size, (0,) * size)

    documents = [[text(5), text(7)], [], [text(20), text(6)], [text(9)]]
    batches = list(shuffled_batches(documents, 16, Random(0)))
    assert sorted((owner, tree.size) for _, trees in batches for owner, tree in trees) == [
        (0, 5),
        (0, 7),
        (2, 6),
        (2, 20),
        (3, 9),
    ]
    assert all(sum(tree.size for _, tree in trees) <= 16 or len(trees) == 1 for _, trees in batches)
    assert batches[-1][0] == 4
    assert batches[0][0] < 4


def test_losses_by_hand():
    vectors = torch.tensor
    # cosines 0.96 and 0
    assert float(masked_node(vectors([[3.0, 4], [0, 2]]), vectors([[4.0, 3], [5, 0]]))) == pytest.approx(0.52)
    # (0.6, 0.8) scores 0.6 + 0 for the own child and 0 + 1.6 for the other's
    found = matching(vectors([[3.0, 4]]), vectors([[1.0, 0]]), vectors([[0.0, 2]]))
    assert float(found) == pytest.approx(-math.log(math.exp(0.6) / (math.exp(0.6) + math.exp(1.6))))
    # three children at places 2, 0, 1 have 0, 2, 1 behind them: (0, 2/3, 1/3) against a tenth each
    places = vectors([[2, 0, 1, *range(3, 10)]])
    by_hand = 2 / 3 * math.log(2 / 3 / 0.1) + 1 / 3 * math.log(1 / 3 / 0.1)
    assert float(child_order(torch.zeros(1, 10), places, vectors([3]))) == pytest.approx(by_hand)
    right = torch.full((1, 10), -50.0)
    right[0, 1], right[0, 2] = math.log(2 / 3), math.log(1 / 3)
    assert float(child_order(right, places, vectors([3]))) == pytest.approx(0, abs=1e-6)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny base model of random weights."""
    folder = tmp_path_factory.mktemp("base")
    make_scratch_model(lambda: [PAGE.lower()] * 3, folder, size="tiny", seed=1, vocabulary=200)
    return folder


def untrained(base: Path) -> tuple[Webformer, Masker]:
    """Webformer over the base, its own weights large enough for each to show, without dropout."""
    torch.manual_seed(0)
    encoder, tokenizer = load_encoder(str(base)), load_tokenizer(str(base))
    model = Webformer(encoder, MaskedHead.of(encoder, str(base)), tokenizer).eval()
    with torch.no_grad():
        for part in (model.nodes, model.project, model.order):
            for parameter in part.parameters():
                parameter.add_(torch.randn_like(parameter) * 0.2)
        model.types.weight[1:].normal_()
    return model, Masker(load_tokenizer(str(base)), whole_words=True)


def trees(base: Path) -> list[tuple[int, Text | Inner]]:
    """Three documents: a text, a node over texts, and a node over a node."""
    tokenizer = load_tokenizer(str(base))

    def tokens(texts: list[str]) -> list[list[int]]:
        return tokenizer(texts, add_special_tokens=False)["input_ids"]

    def leaves() -> list[Branch]:
        return [Branch("paragraph", text) for text in ("a boat floats on", "one oar two oars", "dry it with care ok")]

    care = Branch("care of the boat", children=leaves())
    roots = [leaves()[1], Branch("the boat", children=leaves()), Branch("", children=[care, *leaves()])]
    return [
        (number, tree) for number, root in enumerate(roots) for tree in trees_of(root, tokens, longest=24, largest=1000)
    ]


def test_the_losses_of_a_batch_are_those_of_its_nodes_one_by_one(base):
    model, masker = untrained(base)
    batch = batch_of(trees(base))
    assert [len(level) for level in batch.levels] == [2, 1]
    masked = draw_masked(batch, Random(3))
    with torch.no_grad():
        losses = model(batch, masked, masker, Random(7))
        by_hand = one_by_one(model, batch, masked, masker, Random(7))
    assert set(losses) == {"mlm", "mnp", "pcm", "snm", "cop"}
    for name, value in losses.items():
        assert float(value) == pytest.approx(by_hand[name], abs=2e-5), name


def one_by_one(model, batch, masked, masker, rng):
    """The same from single texts and nodes, without padding."""
    embedded = model.words
    vectors, cross_entropies = [], []
    for text in batch.texts:
        ids, labels = masker.masked((model.cls, *text.ids), rng)
        types = torch.tensor([0, *text.types])
        inputs = embedded[torch.tensor(ids)] + model.types.weight[types]
        hidden = model.encoder(inputs_embeds=inputs[None]).last_hidden_state[0]
        vectors.append(hidden[0])
        for place, label in enumerate(labels):
            if label >= 0:
                head = model.head
                output = head.norm(torch.nn.functional.gelu(head.dense(hidden[place])))
                logits = embedded @ output + head.bias
                cross_entropies.append(float(torch.logsumexp(logits, 0) - logits[label]))

    def row(node, children):
        tag = [embedded[list(node.tag)].mean(0)] if node.tag else []
        return torch.stack([embedded[model.cls], *tag, *children])

    def read(rows, node):
        # A node without a tag leaves its place out; the children stay where they are.
        places = torch.tensor([0, *([1] if node.tag else []), *range(2, 2 + len(node.children))])
        found = model.nodes(inputs_embeds=rows[None], position_ids=places[None]).last_hidden_state[0]
        return found[0], found[len(rows) - len(node.children) :]

    for node in batch.nodes:
        vectors.append(read(row(node, [vectors[child] for child in node.children]), node)[0])
    mean = {name: [] for name in ("mnp", "pcm", "snm", "cop")}
    for each in masked:
        node = batch.nodes[each.node]
        children = [vectors[child] for child in node.children]
        without = [*children]
        without[each.child] = embedded[model.mask]
        _, seen = read(row(node, children), node)
        parent, hidden = read(row(node, without), node)
        mean["mnp"].append(1 - float(torch.cosine_similarity(seen[each.child], hidden[each.child], dim=0)))
        own, other = children[each.child], vectors[each.other]
        for name, asked in (("pcm", parent), ("snm", children[each.sibling])):
            unit = model.project(asked) / model.project(asked).norm()
            mean[name].append(math.log1p(math.exp(float(unit @ other - unit @ own))))
        shuffled, _ = read(row(node, [children[place] for place in each.order]), node)
        said = torch.log_softmax(model.order(shuffled), 0)
        behind = [len(children) - 1 - each.order.index(child) for child in range(len(children))]
        shares = [number / sum(behind) for number in behind]
        mean["cop"].append(sum(s * (math.log(s) - float(said[child])) for child, s in enumerate(shares) if s))
    mean["mlm"] = cross_entropies
    return {name: sum(values) / len(values) for name, values in mean.items()}


def test_steps_lower_every_loss_and_reach_every_weight(base):
    model, masker = untrained(base)
    batch = batch_of(trees(base))
    masked = draw_masked(batch, Random(3))
    assert all(batch.owners[each.other] != batch.owners[batch.nodes[each.node].children[0]] for each in masked)
    step = torch.optim.Adam(model.parameters(), lr=3e-3)
    first = model(batch, masked, masker, Random(7))
    torch.autograd.backward(sum(first.values()))
    idle = [name for name, parameter in model.named_parameters() if parameter.grad is None]
    assert {name.split(".")[1] for name in idle} <= {"pooler", "embeddings"}  # the nodes' own words, BERT's pooling
    for _ in range(15):
        step.step()
        step.zero_grad()
        last = model(batch, masked, masker, Random(7))
        torch.autograd.backward(sum(last.values()))
    assert all(last[name].item() < first[name].item() for name in first)
    assert not model.types.weight[0].any()  # plain text is read without a type


def test_a_batch_of_one_document_has_no_other_to_compare_with(base):
    model, masker = untrained(base)
    batch = batch_of(trees(base)[1:2])
    assert set(model(batch, draw_masked(batch, Random(0)), masker, Random(0))) == {"mlm", "mnp", "cop"}


def test_the_command_writes_a_base_model_that_training_takes(run, base, tmp_path):
    pages = {f"{topic}.md": PAGE.replace("boat", topic) * 3 for topic in ("anchor", "ballast", "compass", "deck")}
    write_pages(tmp_path / "pages", pages)
    folder = tmp_path / "w"
    assert run("ingest", tmp_path / "pages", "-w", folder).code == 0
    options = ("--base-model", base, "--batch-tokens", 1024, "--max-tokens", 64, "-w", folder)
    first = run("webformer", tmp_path / "one", *options)
    assert first.code == 0, first.err
    assert "steps over 4 documents" in first.out
    assert "COP" in first.out
    assert f"train --base-model {tmp_path / 'one'}" in first.out
    assert run("webformer", tmp_path / "two", *options).code == 0
    assert (tmp_path / "one/model.safetensors").read_bytes() == (tmp_path / "two/model.safetensors").read_bytes()
    before, after = load_encoder(str(base)).state_dict(), load_encoder(str(tmp_path / "one")).state_dict()
    assert before.keys() == after.keys()
    assert not torch.equal(before["encoder.layer.0.output.dense.weight"], after["encoder.layer.0.output.dense.weight"])
    ranker = ranker_kind("cross-encoder").start(str(tmp_path / "one"), RankerOptions(document_tokens=64))
    assert ranker.score(["a boat"], ["It floats."]).shape == (1,)
    assert "is there already" in run("webformer", tmp_path / "one", *options).err


def test_a_run_that_was_stopped_goes_on_to_the_same_weights(run, base, tmp_path):
    pages = {f"{topic}.md": PAGE.replace("boat", topic) * 9 for topic in ("anchor", "ballast", "compass", "deck")}
    write_pages(tmp_path / "pages", pages)
    folder = tmp_path / "w"
    assert run("ingest", tmp_path / "pages", "-w", folder).code == 0
    options = PretrainingOptions(str(base), max_tokens=64, batch_tokens=1024, epochs=2, save_seconds=0)
    steps = []

    def stop(done: int, total: int) -> None:
        steps.append(done)
        if len(steps) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pretrain(folder, tmp_path / "stopped", options, report=stop)
    assert not (tmp_path / "stopped").exists()
    resumed = pretrain(folder, tmp_path / "stopped", options, resume=True, report=lambda done, _: steps.append(done))
    said: list[str] = []
    whole = pretrain(folder, tmp_path / "whole", options, resume=True, note=said.append)
    assert said == ["no checkpoint to continue from: starting over"]
    assert resumed.steps == whole.steps == len(steps) == 4
    assert steps == sorted(steps)
    one, two = ((tmp_path / name / "model.safetensors").read_bytes() for name in ("stopped", "whole"))
    assert one == two
    assert resumed.losses == pytest.approx(whole.losses)
    assert not [*folder.glob("cache/webformer-*")]


@pytest.mark.slow
def test_a_batch_at_the_shape_of_bert_base_reaches_every_layer(run, tmp_path):
    make_scratch_model(lambda: [PAGE.lower()] * 3, tmp_path / "base", size="base", seed=1, vocabulary=200)
    pages = {f"{topic}.md": PAGE.replace("boat", topic) * 2 for topic in ("anchor", "ballast", "compass")}
    write_pages(tmp_path / "pages", pages)
    assert run("ingest", tmp_path / "pages", "-w", tmp_path / "w").code == 0
    options = PretrainingOptions(str(tmp_path / "base"), max_tokens=32, batch_tokens=512, max_steps=1)
    done = pretrain(tmp_path / "w", tmp_path / "out", options)
    assert (done.steps, done.losses.keys()) == (1, {"mlm", "mnp", "pcm", "snm", "cop"})
    assert all(math.isfinite(value) for value in done.losses.values())
    before, after = (load_encoder(str(tmp_path / name)) for name in ("base", "out"))
    assert (after.config.num_hidden_layers, after.config.hidden_size) == (12, 768)
    for one, two in zip(before.encoder.layer, after.encoder.layer, strict=True):
        assert not torch.equal(one.output.dense.weight, two.output.dense.weight)


def test_what_cannot_be_learned_from_is_refused(run, base, tmp_path):
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages/a.md").write_text("# A\n")
    assert run("ingest", tmp_path / "pages", "-w", tmp_path / "w").code == 0
    options = PretrainingOptions(str(base), max_tokens=64)
    with pytest.raises(ModelError, match="no text of five tokens"):
        pretrain(tmp_path / "w", tmp_path / "out", options)
    with pytest.raises(ModelError, match="goes on from a trained base model"):
        pretrain(tmp_path / "w", tmp_path / "out", replace(options, base_model="scratch"))
    assert not (tmp_path / "out").exists()
    assert branch_of(Section("A")).children == []
