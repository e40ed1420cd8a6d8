"""The weights of all-MiniLM-L6-v2, in the folder `model`: structformer finds them when this package is installed."""
