"""The commands `experiment`, `finetune` and `distill`."""
