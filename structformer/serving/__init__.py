"""Serving a search: the page, the API, MCP, the box for other sites, feedback. Needs structformer[serve]."""
