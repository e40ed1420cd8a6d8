"""Rankers: models that score query-document pairs, where they start from, how they are saved and loaded."""

from typing import TYPE_CHECKING

from structformer.lazy_names import lazy_names

if TYPE_CHECKING:
    from structformer.models.adapters import settings_of
    from structformer.models.base import (
        MINILM_HUB,
        MINILM_LICENCE,
        MINILM_RELEASE,
        MINILM_SIZE,
        base_for,
        compare_minilm,
        own_models,
        packaged_minilm,
        pretrained_offer,
        resolve_base_model,
        usable_base,
        usable_pair,
    )
    from structformer.models.bert_graph import bert_graph as model_graph
    from structformer.models.bi_encoder import BiEncoder
    from structformer.models.cross_encoder import CrossEncoder
    from structformer.models.first_tokens import Frame, length_buckets, longest_input
    from structformer.models.first_tokens import first_tokens as first_tokens_of
    from structformer.models.kinds import (
        Card,
        Defaults,
        Ranker,
        RankerKind,
        RankerOptions,
        imported,
        ranker_kind,
        ranker_kinds,
    )
    from structformer.models.known_encoders import KNOWN, MULTILINGUAL, PAIRS, RERANKERS, another_encoder
    from structformer.models.loading import load_encoder, load_tokenizer, warn_once
    from structformer.models.losses import LOSSES, Loss, Takes
    from structformer.models.onnx_encoder import EXPORTS, exported, why_not
    from structformer.models.published import PublishedWeights
    from structformer.models.registry import (
        RECORD,
        ModelRecord,
        checked_model,
        model_folder,
        model_kind,
        read_record,
        trained_models,
        write_record,
    )
    from structformer.models.scratch import make_scratch_model
    from structformer.models.sentence_modules import (
        WEIGHTS,
        Dense,
        OtherForm,
        dense_folders,
        model_file,
        read_model_json,
        read_modules,
        write_modules,
    )

__all__ = [
    "EXPORTS", "KNOWN", "LOSSES", "MINILM_HUB", "MINILM_LICENCE", "MINILM_RELEASE", "MINILM_SIZE", "MULTILINGUAL",
    "PAIRS", "RECORD", "RERANKERS", "WEIGHTS", "BiEncoder", "Card", "CrossEncoder", "Defaults", "Dense", "Frame",
    "Loss", "ModelRecord", "OtherForm", "PublishedWeights", "Ranker", "RankerKind", "RankerOptions", "Takes",
    "another_encoder", "base_for", "checked_model", "compare_minilm", "dense_folders", "exported", "first_tokens_of",
    "imported", "length_buckets", "load_encoder", "load_tokenizer", "longest_input", "make_scratch_model", "model_file",
    "model_folder", "model_graph", "model_kind", "own_models", "packaged_minilm", "pretrained_offer", "ranker_kind",
    "ranker_kinds", "read_model_json", "read_modules", "read_record", "resolve_base_model", "settings_of",
    "trained_models", "usable_base", "usable_pair", "warn_once", "why_not", "write_modules", "write_record",
]  # fmt: skip
__getattr__ = lazy_names(__name__)
