"""What the rest of the code asks of KNRM, Conv-KNRM, DRMM and DUET. Importing this loads no torch."""

from structformer.models import Card, Defaults, RankerKind

KNRM, CONV_KNRM, DRMM, DUET = "knrm", "conv-knrm", "drmm", "duet"
_CALL = 'model.score(["how do I ..."], ["a passage"])'
KERNELS = tuple(
    RankerKind(
        name,
        model="structformer_kernels.ranker:KernelRanker",
        objective="structformer.training.objectives.objectives:CrossEncoderObjective",
        losses=("hinge", "softmax", "softmax-hinge", "margin-mse", "kl"),
        mix={"ict": 3.0, "srr": 1.0},
        cpu=Defaults(16, 1e-3, 192),
        gpu=Defaults(64, 1e-3, 256),
        card=Card(
            "KernelRanker",
            _CALL,
            "text-ranking",
            "structformer",
            "structformer_kernels.ranker",
        ),
        joint=True,
        word_vectors=True,
        finetuning_rate=None,
    )
    for name in (KNRM, CONV_KNRM, DRMM)
)
_DUET = RankerKind(
    DUET,
    model="structformer_kernels.duet_ranker:DuetRanker",
    objective="structformer.training.objectives.objectives:CrossEncoderObjective",
    losses=("softmax", "hinge", "softmax-hinge", "margin-mse", "kl"),
    mix={"ict": 3.0, "srr": 1.0},
    cpu=Defaults(16, 1e-3, 200),
    gpu=Defaults(64, 1e-3, 1000),
    card=Card("DuetRanker", _CALL, "text-ranking", "structformer", "structformer_kernels.duet_ranker"),
    joint=True,
    finetuning_rate=None,
    word_vectors=True,  # of which a list of n-graphs takes the place
)
KINDS = (*KERNELS, _DUET)
