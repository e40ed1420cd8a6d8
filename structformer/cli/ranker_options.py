"""Options whose help says what kinds of rankers there are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import click

from structformer.models.kinds import RankerKind, ranker_kinds


class RankersOption(click.Option):
    """An option whose help is made of the kinds of rankers when it is shown: some are plugins', which a command that
    needs none does not load.
    """

    def __init__(self, *args: Any, describe: Callable[[Mapping[str, RankerKind]], str], **options: Any) -> None:
        super().__init__(*args, **options)
        self._describe = describe

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        self.help = self._describe(ranker_kinds())
        return super().get_help_record(ctx)


def losses_by_kind(kinds: Mapping[str, RankerKind]) -> str:
    """Each kind with its losses."""
    return "; ".join(f"{name}: {', '.join(kind.losses)}" for name, kind in kinds.items()) + "."
