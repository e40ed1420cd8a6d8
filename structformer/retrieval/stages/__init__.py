"""The stages of search pipelines, a module for each family."""
