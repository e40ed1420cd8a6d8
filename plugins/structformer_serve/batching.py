"""Queries of requests that come at once are encoded together; vectors of queries that come again are kept."""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import suppress
from queue import Empty, SimpleQueue

import numpy as np
import numpy.typing as npt
from structformer.retrieval import EncodedQuery, QueryEncoder, SecondLook, encoded_queries

Vector = npt.NDArray[np.float32]
_BATCH = 32
_KEPT = 4096


class BatchedEncoder:
    """An encoder for many threads: while one batch is encoded, the queries that come are gathered for the next.

    Nothing is waited for, so a query that comes alone is encoded at once. look: the second look that its queries'
    tokens are encoded for too."""

    def __init__(self, encoder: QueryEncoder, *, look: SecondLook | None = None) -> None:
        self._encoder = encoder
        self._look = look
        self._kept: OrderedDict[str, EncodedQuery] = OrderedDict()
        self._lock = threading.Lock()
        self._queue: SimpleQueue[tuple[str, Future[EncodedQuery]] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="query-encoder", daemon=True)
        self._thread.start()

    def encode_queries(self, queries: Sequence[str]) -> Vector:
        """Return (queries, dimensions) float32, unit length."""
        return np.stack([vector for vector, _ in self.encoded_queries(queries)])

    def encoded_queries(self, queries: Sequence[str]) -> list[EncodedQuery]:
        """Return each query's vector, and its tokens' for the second look."""
        futures = [self.submit(query) for query in queries]
        return [each.result() for each in futures]

    def submit(self, query: str) -> Future[EncodedQuery]:
        """Return the query's vector, when it is there; asked for again at once, it is kept."""
        future: Future[EncodedQuery] = Future()
        with self._lock:
            vector = self._kept.get(query)
            if vector is not None:
                self._kept.move_to_end(query)
        if vector is None:
            self._queue.put((query, future))
        else:
            future.set_result(vector)
        return future

    def close(self) -> None:
        """End the thread, after what was asked of it."""
        self._queue.put(None)

    def _work(self) -> None:
        item = self._queue.get()
        while item is not None:
            batch = [item]
            with suppress(Empty):
                while len(batch) < _BATCH and (item := self._queue.get_nowait()) is not None:
                    batch.append(item)
            self._encode(batch)
            if item is not None:
                item = self._queue.get()

    def _encode(self, batch: list[tuple[str, Future[EncodedQuery]]]) -> None:
        # Without those whose time was up meanwhile; from now on none of the others can be cancelled.
        batch = [(query, future) for query, future in batch if future.set_running_or_notify_cancel()]
        if not batch:
            return
        queries = list(dict.fromkeys(query for query, _ in batch))
        try:
            vectors = dict(zip(queries, encoded_queries(self._encoder, self._look, queries), strict=True))
        except Exception as error:  # goes to whoever waits for the batch
            for _, future in batch:
                future.set_exception(error)
            return
        with self._lock:
            self._kept.update(vectors)
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        for query, future in batch:
            future.set_result(vectors[query])
