"""Whole words are masked in scripts without spaces too, whatever the tokenizer; and a run in which nothing is guessed stops."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from pathlib import Path
from random import Random

import pytest
from structformer import train
from structformer.errors import ModelError
from structformer.ingestion import ingest
from structformer.models import make_scratch_model
from structformer.training import IGNORED, Masker, training_options
from structformer.training.report.logs import read_log
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import BertTokenizer, PreTrainedTokenizerFast, XLMRobertaConfig, XLMRobertaModel

from boats import TINY
from conftest import write_pages
from test_bprop_and_ares import vectors_of

PARTS = {
    "zh": "船锚 指南针 甲板 发动机 护舷 桅杆 船舵 船帆 绳索 龙骨 螺旋桨 舵柄".split(),
    "ja": "いかり らしんばん 甲板 エンジン 防舷材 マスト かじ 帆 ロープ 竜骨 プロペラ 舵柄".split(),
    "th": "สมอเรือ เข็มทิศ ดาดฟ้า เครื่องยนต์ กันชน เสากระโดง หางเสือ ใบเรือ เชือก กระดูกงู ใบพัด คันบังคับ".split(),
}
SENTENCES = {
    "zh": "每天早上都要用淡水仔细清洗{0}然后把{0}放在干燥的地方以免在冬天里生锈而{1}也要一起检查。",
    "ja": "毎朝かならず真水で{0}をていねいに洗いそれから{0}を乾いた場所に置いて冬のあいだに錆びないように{1}も点検する。",
    "th": "ทุกเช้าต้องล้าง{0}ด้วยน้ำจืดแล้วเก็บ{0}ไว้ในที่แห้งเพื่อไม่ให้เป็นสนิมในฤดูหนาวและควรตรวจ{1}ไปพร้อมกันด้วย ",
}
RECIPES = ("prop", "bprop", "ares", "condenser", "cocondenser", "retromae", "dupmae", "cotmae")
SPECIAL = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]


def pages(language: str) -> dict[str, str]:
    parts = PARTS[language]
    return {
        f"{language}-{number}.md": f"# {part}\n\n{sentence}\n\n"
        + "".join(f"## {part}{other}\n\n{SENTENCES[language].format(other, part) * 2}\n\n" for other in parts[:4])
        for number, part in enumerate(parts)
        for sentence in [SENTENCES[language].format(part, parts[number - 1])]
    }


TEXTS = {language: [*pages(language).values()] for language in PARTS}


def metaspace(vocabulary: int = 400) -> PreTrainedTokenizerFast:
    """A tokenizer of XLM-R's form."""
    made = Tokenizer(models.Unigram())
    made.pre_tokenizer, made.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    made.train_from_iterator(
        chain(*TEXTS.values()),
        trainers.UnigramTrainer(vocab_size=vocabulary, special_tokens=SPECIAL, unk_token="<unk>"),
    )
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    return wrapped(made)


def byte_level() -> PreTrainedTokenizerFast:
    """A tokenizer of RoBERTa's and ModernBERT's form, whose tokens may be parts of characters."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer, made.decoder = pre_tokenizers.ByteLevel(add_prefix_space=True), decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=330, special_tokens=[*SPECIAL, "##", "####"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
    )
    made.train_from_iterator(["the boat and the sail of the boat", *chain(*TEXTS.values())], trainer)
    return wrapped(made)


def wrapped(made: Tokenizer) -> PreTrainedTokenizerFast:
    names = ("cls_token", "pad_token", "sep_token", "unk_token", "mask_token")
    return PreTrainedTokenizerFast(
        tokenizer_object=made, model_max_length=512, **dict(zip(names, SPECIAL, strict=True))
    )


def wordpiece(folder: Path, words: list[str]) -> BertTokenizer:
    (folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]))
    return BertTokenizer(vocab=str(folder / "vocab.txt"))


def masked_shares(tokenizer, texts: list[str], share: float | None = 0.3) -> list[float]:
    """Of each text, the share of its tokens that is to be guessed."""
    masker, rng = Masker(tokenizer, whole_words=True, share=share), Random(0)
    rows = [ids for ids in tokenizer(texts)["input_ids"] for _ in range(5)]
    return [sum(label != IGNORED for label in masker.masked(ids, rng)[1]) / len(ids) for ids in rows]


@pytest.mark.parametrize("language", PARTS)
@pytest.mark.parametrize("made", [metaspace, byte_level])
def test_whole_words_are_masked_in_scripts_without_spaces(made, language):
    shares = masked_shares(made(), TEXTS[language])
    assert min(shares) > 0
    assert 0.26 < sum(shares) / len(shares) < 0.32
    assert min(masked_shares(made(), ["船", "เรือ", "boat"], None)) > 0


def test_a_vocabulary_of_characters_has_no_words(tmp_path):
    """BERT's own tokenizer cuts Han; neither these nor a vocabulary without pieces have anything to put together."""
    shares = masked_shares(wordpiece(tmp_path, sorted({*"".join(PARTS["zh"]), "锚"})), ["".join(PARTS["zh"])])
    assert 0.2 < sum(shares) / len(shares) < 0.32


def test_a_word_that_is_longer_than_the_share_gives_single_tokens(tmp_path):
    """Of 8 tokens a share of .3 is two: "rope" is masked, or two of the seven pieces of the other word."""
    tokenizer = wordpiece(tmp_path, ["rope", "h", *(f"##{letter}" for letter in "alyrds")])
    [ids] = tokenizer(["rope halyards"])["input_ids"]
    assert len(ids) == 2 + 9
    masker = Masker(tokenizer, whole_words=True, share=0.3)
    chosen = [
        [at for at, label in enumerate(masker.masked(ids, Random(seed))[1]) if label != IGNORED] for seed in range(40)
    ]
    assert all(len(places) == 3 and places[0] == 1 for places in chosen)
    assert len({tuple(places) for places in chosen}) > 5


def test_every_text_has_a_masked_token(tmp_path):
    tokenizer = wordpiece(tmp_path, ["rope", "sail"])
    for whole_words in (True, False):
        masker = Masker(tokenizer, whole_words=whole_words)
        for seed in range(30):
            assert any(
                label != IGNORED for label in masker.masked(tokenizer("rope sail")["input_ids"], Random(seed))[1]
            )


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A little XLM-R of random weights."""
    folder = tmp_path_factory.mktemp("xlmr")
    tokenizer = metaspace()
    tokenizer.save_pretrained(folder)
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    ids = {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}
    XLMRobertaModel(
        XLMRobertaConfig(vocab_size=len(tokenizer), max_position_embeddings=514, **sizes, **ids)
    ).save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pages of all three languages."""
    folder = tmp_path_factory.mktemp("corpus")
    every = {path: text for language in PARTS for path, text in pages(language).items()}
    ingest(write_pages(folder / "pages", every), folder / "w", workers=1)
    return folder / "w"


@pytest.mark.parametrize("recipe", RECIPES)
def test_each_recipe_guesses_words_of_scripts_without_spaces(recipe, base, corpus, tmp_path):
    settings = ["sample.min_words=5", "sample.held_out=0", "sample.keep_short=1.0"]
    if recipe in ("prop", "ares"):
        settings.append("sample.min_frequency=1")
    if recipe == "ares":
        settings.append(f"sample.word_vectors={vectors_of(list(chain(*PARTS.values())), tmp_path)}")
    chosen = {
        "base_model": base,
        "groups": 6,
        "accumulation": 1,
        "max_steps": 2,
        "document_tokens": 64,
        "precision": "no",
    }
    result = train(corpus, replace(training_options(recipe, chosen, settings), name=recipe))
    for line in read_log(result.folder / "training.jsonl"):
        assert "mlm" in line["losses"]
        assert min(line["losses"].values()) > 0.5


def test_a_run_whose_texts_have_no_word_to_guess_stops(tmp_path):
    """A base that knows none of the letters: all is [UNK]."""
    make_scratch_model(lambda: ["boats and sails"], tmp_path / "latin", size="tiny", seed=0)
    ingest(write_pages(tmp_path / "pages", pages("th")), tmp_path / "w", workers=1)
    chosen = {"base_model": str(tmp_path / "latin"), "groups": 4, "max_steps": 2, "document_tokens": 64}
    with pytest.raises(ModelError, match="no text of step 1 has a word to guess"):
        train(tmp_path / "w", training_options("retromae", chosen, ["sample.min_words=5", "sample.held_out=0"]))


def test_a_run_whose_loss_is_exactly_0_from_its_first_step_stops(tmp_path):
    """Groups of one document have nothing to tell apart."""
    ingest(write_pages(tmp_path / "pages", pages("zh")), tmp_path / "w", workers=1)
    options = replace(TINY, ranker="cross-encoder", mix={"srr": 1.0}, group_size=1, sampling={"min_words": 5})
    with pytest.raises(ModelError, match="the loss is exactly 0 for all"):
        train(tmp_path / "w", options)
