"""A workspace's search as a component of other libraries: one thin module each, behind an extra of its name."""
