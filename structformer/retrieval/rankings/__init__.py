"""Lists of what was found: their order, their fusion, and files of them."""
