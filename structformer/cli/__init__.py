"""The command line: one module per command, which parses, calls the library and prints."""
