"""The attributes of every page of a component, by its settings, and where its modules' images are."""

from collections.abc import Callable, Collection, Iterator
from functools import lru_cache

from structformer.formats import SourceFile, is_external, split_fragment

from structformer_asciidoc.attributes import Attributes
from structformer_asciidoc.preprocessing import MODULE, place_of
from structformer_sites import load, settings_above

_LONGEST = 200_000  # bytes of settings
_MOST = 2000  # attributes
_IMAGE_FOLDERS = ("images", "assets/images")  # of a module; the second is the older one
_CALLED = {"name": "page-component-name", "title": "page-component-title", "version": "page-component-version"}


def attributes_of(source: SourceFile, given: dict[str, str]) -> Callable[[], Attributes]:
    """Return a function that makes a page's initial attributes. given: those that hold whatever a file says."""
    component = settings_above(source, "component") if MODULE.match(source.path) else None
    if component is None:
        return lambda: Attributes(given)
    settled, begins_with = _site(_data(settings_above(source, "components")), _data(component))

    def begun() -> Attributes:
        attributes = Attributes({**settled, **given}, image=lambda target: _image(source, target))
        for name, value in begins_with.items():
            attributes.enter(f":{name}: {value}")
        return attributes

    return begun


def _data(source: SourceFile | None) -> bytes:
    return b"" if source is None else source.read()[:_LONGEST]


@lru_cache(maxsize=16)
def _site(components: bytes, component: bytes) -> tuple[dict[str, str], dict[str, str]]:
    """Return the attributes that no page changes, and those that a page may: their values end with @."""
    spelt, soft = Attributes({}), set[str]()
    for data in (components, component):
        settings = load(".yml", data.decode("utf-8", "replace"))
        asciidoc = settings.get("asciidoc")
        named = asciidoc.get("attributes") if isinstance(asciidoc, dict) else None
        own = {key: settings[name] for name, key in _CALLED.items() if isinstance(settings.get(name), str)}
        for name, value in [*own.items(), *(named.items() if isinstance(named, dict) else ())][:_MOST]:
            if value is False or value is None:
                spelt.enter(f":!{name}:")
                continue
            text = "" if value is True else " ".join(str(value).split())
            spelt.enter(f":{name}: {text.removesuffix('@')}")
            (soft.add if text.endswith("@") else soft.discard)(str(name).lower())
    values = spelt.own
    return {k: v for k, v in values.items() if k not in soft}, {k: v for k, v in values.items() if k in soft}


def component_names(path: str, attributes: Attributes) -> list[str]:
    """Return the names by which other components refer to a page: component:module:page, also with its version."""
    component, module = attributes.get("page-component-name"), MODULE.match(path)
    if not component or module is None:
        return []
    page, version = path[module.end() :].removeprefix("pages/"), attributes.get("page-component-version")
    name = f"{component}:{module[1]}:{page}"
    return [name, f"{version}@{name}"] if version else [name]


def names_meant(target: str, own: Collection[str]) -> Iterator[str]:
    """Return names that a component's page may have; one the corpus lacks is outside. own: names of the page here."""
    page, anchor = split_fragment(target)
    version, at, rest = page.rpartition("@")
    parts = rest.split(":")
    if len(parts) != 3:
        return
    name = f"{parts[0]}:{parts[1] or 'ROOT'}:{parts[2]}"
    if not any(each.startswith(f"{parts[0]}:") for each in own):
        yield f"//{name}"
    for each in (f"{version}{at}{name}", name):
        yield f"{each}#{anchor}" if anchor else each


def _image(source: SourceFile, target: str) -> str:
    """Return an image's path as seen from a page of a module."""
    if is_external(target) or target.startswith("/"):
        return target
    module, _, inner = target.replace("image$", "").rpartition(":")
    places = [place_of(source, f"{module}:image${inner}".removeprefix(":"), each) for each in _IMAGE_FOLDERS]
    return next((place for place in places if source.open(place) is not None), places[0])
