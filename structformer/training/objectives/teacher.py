"""A trained cross-encoder as teacher: its scores of pairs, each computed once."""

import hashlib
from collections.abc import Sequence

import torch

from structformer.errors import ModelError
from structformer.models.kinds import ranker_kind
from structformer.models.registry import checked_model, read_record
from structformer.workspace import Workspace


class CrossEncoderTeacher:
    """Returns (pairs,) float scores; scores are cached, 24 bytes per pair, so that later epochs cost nothing."""

    def __init__(self, workspace: Workspace, name: str, device: torch.device) -> None:
        """Raises ModelError on an unknown model, or one that is not a cross-encoder."""
        record = read_record(workspace, name)
        kind = ranker_kind(record.kind)
        if not kind.joint:
            raise ModelError(f"{name} is a {record.kind}; only a cross-encoder teaches")
        self._ranker = kind.load(str(checked_model(workspace, name)))
        self._ranker.model.to(device).eval()
        self._known: dict[bytes, float] = {}

    def __call__(self, queries: Sequence[str], documents: Sequence[str]) -> torch.Tensor:
        keys = [
            hashlib.blake2b(f"{query}\0{document}".encode("utf-8", "surrogatepass"), digest_size=12).digest()
            for query, document in zip(queries, documents, strict=True)
        ]
        missing = {key: number for number, key in enumerate(keys) if key not in self._known}
        if missing:
            with torch.autocast(self._ranker.model.device.type, enabled=False):
                scores = self._ranker.score(
                    [queries[number] for number in missing.values()], [documents[number] for number in missing.values()]
                )
            self._known.update(zip(missing, map(float, scores), strict=True))
        return torch.tensor([self._known[key] for key in keys])
