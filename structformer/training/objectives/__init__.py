"""What a step learns: losses, masked words, what a teacher says."""
