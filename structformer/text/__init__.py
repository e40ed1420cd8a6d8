"""Strings and nothing but strings: names, headings, passages, words."""
