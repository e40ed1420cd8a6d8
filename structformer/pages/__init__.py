"""The frame, the style and the charts that all pages share."""

from structformer.pages.charts import changes, curve, histogram, intervals, queries
from structformer.pages.frame import environment, render

__all__ = ["changes", "curve", "environment", "histogram", "intervals", "queries", "render"]
