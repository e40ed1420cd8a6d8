"""Retrieval: units, first stages, fusion, reranking, and the retriever that runs them."""
