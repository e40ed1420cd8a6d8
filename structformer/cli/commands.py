"""The commands by their names, with what `--help` says of each."""

# Each command's module is imported when it is asked for, so that `--help` is quick. The texts stand here for that
# reason.
COMMANDS = {
    "up": "From files to a search page, which gets better while it is used.",
    "demo": "Try it on documents that are here already.",
    "ingest": "Read documents into the workspace's corpus and reference graph.",
    "inspect": "Show what was read of a file, a folder or the corpus: tree, links.",
    "graph": "The links between documents: statistics, dead links, export.",
    "sample": "Draw training Examples from the corpus.",
    "train": "Train a ranker on the Examples, within the time given.",
    "finetune": "Train on queries and judgements of your own.",
    "distill": "Teach a fast ranker what a trained cross-encoder knows.",
    "export": "Export a model for onnxruntime, the Examples or the corpus.",
    "push": "Send a model and its card to the hub.",
    "pull": "Fetch a model from the hub into the workspace.",
    "report": "A page with a training run's curves and scores.",
    "index": "Index the corpus for search.",
    "search": "Search the index.",
    "ask": "Answer a question from the documents, by a language model of yours.",
    "serve": "Serve the search: a page, an API, MCP, a box for other sites.",
    "mcp": "Give assistants the search over standard input and output.",
    "feedback": "What people searched for on the page, as a report and as judgements.",
    "gaps": "What people ask and the documents do not answer.",
    "evaluate": "Compare pipelines on judged queries or on held-out structure.",
    "experiment": "Train and compare variants that a TOML file describes.",
    "merge": "Put together what parts of ingest, sample or index made.",
    "models": "Encoders that are known to serve well as --base-model.",
    "plugins": "The installed plugins; check one, or begin your own.",
    "check": "Compare every file of the workspace with what was written.",
}
