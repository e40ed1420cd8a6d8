"""Between a client and an answer: connections, limits, who may ask."""
