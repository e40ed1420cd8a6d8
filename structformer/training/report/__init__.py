"""The records of a run that are kept and shown: its log and its card."""
