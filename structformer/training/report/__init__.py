"""What is kept and shown of a run: its log, its card, its page."""
