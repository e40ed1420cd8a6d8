"""The commands by their names, with what `--help` says of each."""

# Each command's module is imported when it is asked for, so that `--help` is quick. The texts stand here for that
# reason.
COMMANDS = {
    "ingest": "Read documents into the workspace's corpus and reference graph.",
    "inspect": "Show what was read of a file, a folder or the corpus: tree, links.",
    "graph": "The links between documents: statistics, dead links, export.",
    "sample": "Draw training Examples from the corpus.",
    "train": "Train a ranker on the Examples, within the time given.",
    "finetune": "Train on queries and judgements of your own.",
    "distill": "Teach a fast ranker what a trained cross-encoder knows.",
    "report": "A page with a training run's curves and scores.",
    "index": "Index the corpus for search.",
    "search": "Search the index.",
    "evaluate": "Compare pipelines on judged queries or on held-out structure.",
    "merge": "Put together what parts of ingest, sample or index made.",
    "models": "Encoders that are known to serve well as --base-model.",
    "check": "Compare every file of the workspace with what was written.",
}
