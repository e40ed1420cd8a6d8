"""Kinds of rankers KNRM, Conv-KNRM, DRMM and DUET, as the rest of the code sees them. Importing this loads no torch."""

from functools import partial

from structformer.models import Card, Defaults, RankerKind

KNRM, CONV_KNRM, DRMM = KERNELS = "knrm", "conv-knrm", "drmm"
DUET = "duet"
_CALL = 'model.score(["how do I ..."], ["a passage"])'
_kind = partial(
    RankerKind,
    objective="structformer.training.objectives.objectives:CrossEncoderObjective",
    mix={"ict": 3.0, "srr": 1.0},
    joint=True,
    options=("pair_query_tokens", "group_size"),
    word_vectors=True,  # of DUET, a list of n-graphs takes their place
    finetuning_rate=None,
)
_OTHERS = ("softmax-hinge", "margin-mse", "kl")
KINDS = tuple(
    _kind(
        name,
        model=f"structformer_kernels.{module}:{loader}",
        losses=losses,
        cpu=Defaults(16, 1e-3, on_cpu),
        gpu=Defaults(64, 1e-3, on_gpu),
        card=Card(loader, _CALL, "text-ranking", "structformer", f"structformer_kernels.{module}"),
    )
    for name, (module, loader, losses, on_cpu, on_gpu) in {
        **dict.fromkeys(KERNELS, ("ranker", "KernelRanker", ("hinge", "softmax", *_OTHERS), 192, 256)),
        DUET: ("duet_ranker", "DuetRanker", ("softmax", "hinge", *_OTHERS), 200, 1000),
    }.items()
)
