"""The kind of ranker, with the losses of its own. Importing this loads no torch."""

from dataclasses import replace

from structformer.models import LOSSES, Card, Defaults, Loss, RankerKind, Takes

LATE_INTERACTION = RankerKind(
    "late-interaction",
    model="structformer_colbert.ranker:LateInteraction",
    objective="structformer_colbert.objective:LateInteractionObjective",
    losses=("infonce", "softmax", "hinge", "softmax-hinge", "margin-mse", "kl", "negative-query", "mse"),
    own_losses=(
        replace(LOSSES["infonce"], gathers=False),  # its documents are many vectors, of different numbers
        replace(LOSSES["softmax"], name="negative-query", takes=Takes.TWO_QUERIES),
        Loss("mse", compute="structformer_colbert.objective:target_mse"),
    ),
    options=("similarity", "mean_max_sim", "sep_last", "dimensions"),
    mix={"ict": 3.0, "srr": 1.0, "ati": 0.25},
    cpu=Defaults(16, 5e-5, 160),
    gpu=Defaults(128, 2e-5, 256),
    card=Card("MultiVectorEncoder", 'model.encode_query(["how do I ..."])', "sentence-similarity"),
    first_stage="late",
    in_batch_negatives=True,
)
