"""Zola."""

from structformer.formats import FOLDER, SiteFacts, SiteGenerator

from structformer_sites.navigation import by_weight
from structformer_sites.settings import address, load, text_of


def _read(name: str, text: str) -> SiteFacts | None:
    settings = load(name, text)
    if "base_url" not in settings:
        return None
    return SiteFacts(
        address(settings["base_url"]), FOLDER, ("content",), name=text_of(settings.get("title")), lower=True
    )


ZOLA = SiteGenerator(
    "zola",
    "Zola",
    settings=("config.toml", "zola.toml"),
    read=_read,
    navigation=lambda files: by_weight(files.pages, "weight"),
)
