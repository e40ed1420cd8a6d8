"""`structformer mcp`."""

from pathlib import Path

import click
from structformer.cli import Output, common_options
from structformer.extras import require

from structformer_serve.commands.serve import PACKAGES, export_encoder


@click.command("mcp")
@click.option("--title", default="", help="Name of the documentation.  [default: the folder's name]")
@common_options
def command(title: str, workspace: Path, out: Output) -> None:
    """Serve the search to assistants over MCP on standard input and output, as the tools search, read and outline.

    \b
    {"mcpServers": {"docs": {"command": "structformer", "args": ["mcp", "-w", "/path/to/workspace"]}}}
    """
    require("serving", *PACKAGES)
    import anyio

    from structformer_serve.mcp_server import mcp_server, over_stdio
    from structformer_serve.service import SearchService

    export_encoder(out, workspace)
    anyio.run(over_stdio, mcp_server(SearchService(workspace, title)))
