"""Kinds of rankers that papers pre-train: their losses, and the tasks that they learn from. Importing this loads no
torch.
"""

from __future__ import annotations

from structformer.models import Card, Defaults, RankerKind

MASKED_AUTOENCODER = RankerKind(
    "masked-autoencoder",
    model="structformer_papers.masked_autoencoders:MaskedAutoencoder",
    objective="structformer_papers.masked_autoencoders:RetroMAEObjective",
    losses=("retromae", "dupmae", "cotmae"),
    objectives={"cotmae": "structformer_papers.masked_autoencoders:CoTMAEObjective"},
    mix={"spans": 1.0},
    cpu=Defaults(32, 1e-4, 128),
    gpu=Defaults(128, 1e-4, 128),
    card=Card("SentenceTransformer", 'model.encode_query(["how do I ..."])', "sentence-similarity"),
    first_stage="dense",
    masked_words=True,
)
