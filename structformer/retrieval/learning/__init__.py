"""What is learned from a corpus without labels: its static encoder, and the hybrid's weights."""
