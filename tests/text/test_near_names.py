"""A name that is slightly wrong is answered with the right one, wherever it is given; any other with all there are."""

from __future__ import annotations

import pytest
from structformer.did_you_mean import did_you_mean
from structformer.errors import StructformerError
from structformer.evaluation.measures import parse_measure
from structformer.models.kinds import ranker_kind
from structformer.plugins import load_plugins
from structformer.retrieval.pipeline import make_stage, stage_kind
from structformer.sampling.tasks import chosen_tasks
from structformer.training.recipes import read_recipe, training_options

from structformer_lab.experiment import read_experiment


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: read_recipe("wikifromer"), "no recipe 'wikifromer'; did you mean wikiformer?"),
        (lambda: training_options("docs", {}, ["learningrate=1"]), "no key learningrate; did you mean learning_rate?"),
        (lambda: training_options(None, {}, ["sample.negativs=1"]), "no key negativs; did you mean negatives?"),
        (lambda: training_options(None, {}, ["negatives=1"]), "no key negatives; did you mean sample.negatives?"),
        (lambda: training_options(None, {"loss": "infonse"}), "no loss 'infonse'; did you mean infonce?"),
        (lambda: ranker_kind("Cross_Encoder"), "no ranker 'Cross_Encoder'; did you mean cross-encoder?"),
        (lambda: parse_measure("ndgc@10"), "no measure 'ndgc@10'; did you mean nDCG@10?"),
        (lambda: parse_measure("nonsense"), "no measure 'nonsense' (for example nDCG@10"),
        (lambda: load_plugins().format("markdwon"), "no format 'markdwon'; did you mean markdown?"),
        (lambda: load_plugins().format("md"), "no format 'md'; did you mean markdown?"),
        (lambda: load_plugins().format("zzz"), "no format 'zzz'; installed: asciidoc"),
        (lambda: stage_kind("lexcial"), "no stage 'lexcial'; did you mean lexical?"),
        (lambda: make_stage("bm25", kk1=1), "bm25 has no option 'kk1'; did you mean k1?"),
        (lambda: make_stage("bm25", zzz=1), "bm25 has no option 'zzz'; choose from: k"),
        (lambda: chosen_tasks(["srrr", "ictt"]), "no task srrr, ictt; did you mean srr and ict?"),
        (lambda: read_experiment("zero_shot"), "did you mean zero-shot?"),
        (lambda: read_experiment("nothing"), "choose from: ablation"),
    ],
)
def test_a_wrong_name_is_answered_with_the_nearest(call, message):
    with pytest.raises(StructformerError) as raised:
        call()
    assert message in str(raised.value)


def test_where_one_of_several_names_has_none_near_all_are_listed():
    assert did_you_mean(["on", "twoo"], ["one", "two"]) == "did you mean one and two?"
    assert did_you_mean(["on", "xyz"], ["one", "two"]) == "choose from: one, two"


def test_a_plugin_and_a_key_of_the_configuration_are_answered_too(run, tmp_path):
    assert "is installed; did you mean markdown?" in run("plugins", "check", "markdwon").err
    assert "is installed; see structformer plugins list" in run("plugins", "check", "zzzz").err
    (tmp_path / "here" / "structformer.toml").write_text('[search]\npipelin = "lexical"\n')
    assert "[search]: no option pipelin; did you mean pipeline?" in run("search", "x").err
