"""A search without a server: a folder of small files that any web server of files gives, and a page that searches in
them.
"""

from structformer_serve.static_site.writing import SiteReport, export_site

__all__ = ["SiteReport", "export_site"]
