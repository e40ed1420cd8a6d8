"""The commands of the server and of what is made from its log."""
