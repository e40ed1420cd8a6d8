"""An index's record of documents and their units: texts, copies, languages, translations, metadata."""
