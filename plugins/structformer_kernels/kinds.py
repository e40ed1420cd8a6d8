"""What the rest of the code asks of KNRM, Conv-KNRM and DRMM. Importing this loads no torch."""

from __future__ import annotations

from structformer.models import Card, Defaults, RankerKind

KNRM, CONV_KNRM, DRMM = "knrm", "conv-knrm", "drmm"
KINDS = tuple(
    RankerKind(
        name,
        model="structformer_kernels.ranker:KernelRanker",
        objective="structformer.training.objectives:CrossEncoderObjective",
        losses=("hinge", "softmax", "softmax-hinge", "margin-mse", "kl"),
        mix={"ict": 3.0, "srr": 1.0},
        cpu=Defaults(16, 1e-3, 192),
        gpu=Defaults(64, 1e-3, 256),
        card=Card(
            "KernelRanker",
            'model.score(["how do I ..."], ["a passage"])',
            "text-ranking",
            "structformer",
            "structformer_kernels.ranker",
        ),
        joint=True,
        word_vectors=True,
    )
    for name in (KNRM, CONV_KNRM, DRMM)
)
