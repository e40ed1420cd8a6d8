"""Kinds of rankers that papers pre-train: their losses and tasks. Importing this loads no torch."""

from structformer.models import Card, Defaults, Loss, RankerKind, Takes

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
    options=("query_tokens", "pooling"),
    gives_tokens=True,
)

CONTEXTUAL = RankerKind(
    "contextual",
    model="structformer_papers.contextual:ContextualEncoder",
    objective="structformer_papers.contextual:InSeNTObjective",
    losses=("insent",),
    own_losses=(Loss("insent", Takes.TEXTS, gathers=True, relative=True),),
    mix={"ict": 3.0, "srr": 1.0, "ati": 0.25},
    cpu=Defaults(8, 5e-5, 96),
    gpu=Defaults(64, 5e-5, 256),
    card=Card(
        "ContextualEncoder",
        'model.encode_in_context([["a passage", "the next one of its document"]])',
        "sentence-similarity",
        "structformer",
        "structformer_papers.contextual",
    ),
    first_stage="dense",
    sentence_encoder=True,
    interpolates=True,
    frozen_words=True,
    options=("query_tokens", "pooling", "train_words"),
    gives_tokens=True,
    in_batch_negatives=True,
)
