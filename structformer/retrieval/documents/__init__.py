"""What an index says of documents and their units: texts, copies, languages, translations, metadata."""
