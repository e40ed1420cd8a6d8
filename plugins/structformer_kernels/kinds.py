"""What the rest of the code asks of KNRM, Conv-KNRM, DRMM and DUET. Importing this loads no torch."""

from functools import partial

from structformer.models import Card, Defaults, RankerKind

KNRM, CONV_KNRM, DRMM, DUET = "knrm", "conv-knrm", "drmm", "duet"
_CALL = 'model.score(["how do I ..."], ["a passage"])'
_kind = partial(
    RankerKind,
    objective="structformer.training.objectives.objectives:CrossEncoderObjective",
    mix={"ict": 3.0, "srr": 1.0},
    joint=True,
    word_vectors=True,  # of DUET, a list of n-graphs takes their place
    finetuning_rate=None,
)
KERNELS = tuple(
    _kind(
        name,
        model="structformer_kernels.ranker:KernelRanker",
        losses=("hinge", "softmax", "softmax-hinge", "margin-mse", "kl"),
        cpu=Defaults(16, 1e-3, 192),
        gpu=Defaults(64, 1e-3, 256),
        card=Card("KernelRanker", _CALL, "text-ranking", "structformer", "structformer_kernels.ranker"),
    )
    for name in (KNRM, CONV_KNRM, DRMM)
)
_DUET = _kind(
    DUET,
    model="structformer_kernels.duet_ranker:DuetRanker",
    losses=("softmax", "hinge", "softmax-hinge", "margin-mse", "kl"),
    cpu=Defaults(16, 1e-3, 200),
    gpu=Defaults(64, 1e-3, 1000),
    card=Card("DuetRanker", _CALL, "text-ranking", "structformer", "structformer_kernels.duet_ranker"),
)
KINDS = (*KERNELS, _DUET)
