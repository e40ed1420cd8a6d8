"""Sites of components: the attributes of every page, a component's names, and where the resources of modules are."""

import re
from collections.abc import Callable, Collection, Iterator
from functools import lru_cache
from posixpath import dirname

from structformer.formats import SourceFile, is_external, join, split_fragment

from structformer_asciidoc.attributes import Attributes
from structformer_sites import load, settings_above, settings_files

_LONGEST = 200_000  # bytes of settings
_MOST = 2000  # attributes
_IMAGE_FOLDERS = ("images", "assets/images")  # of a module; the second is the older one
_CALLED = {"name": "page-component-name", "title": "page-component-title", "version": "page-component-version"}
_FAMILIES = {f"{name}$": f"{name}s" for name in "partial example page attachment image".split()}
# The part of a path down to the files of a module of a component.
_MODULE = re.compile(r"(?:(?:.*/)?modules/)([^/]+)/")


def attributes_of(source: SourceFile, given: dict[str, str]) -> Callable[[], Attributes]:
    """Return a function that makes a page's initial attributes. given: those that hold whatever a file says."""
    component = settings_above(source, "component") if _MODULE.match(source.path) else None
    if component is None:
        return lambda: Attributes(given)
    components = settings_above(source, "components")
    of_site = b"" if components is None else components.read()[:_LONGEST]
    settled, begins_with = _site(of_site, component.read()[:_LONGEST])

    def begun() -> Attributes:
        attributes = Attributes({**settled, **given}, image=lambda target: _image(source, target))
        for name, value in begins_with.items():
            attributes.enter(f":{name}: {value}")
        return attributes

    return begun


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
    component, module = attributes.get("page-component-name"), _MODULE.match(path)
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


def place_of(source: SourceFile, target: str, images: str = "images") -> str:
    """Return a resource's path relative to a file's folder, in any component of the site."""
    version, _, name = target.rpartition("@")
    component, *inner = name.split(":")
    files = [file for each in settings_files("component") if len(inner) == 2 for file in source.companions(each)]
    for file in sorted(files, key=lambda each: not source.path.startswith(dirname(each.path))):
        own = load(".yml", file.read().decode("utf-8", "replace"))
        if own.get("name") == component and version in ("", str(own.get("version"))):
            root = join(dirname(file.path), "modules/ROOT") or ""
            place = join(root, resource_path(f"{root}/", ":".join(filter(None, inner)), images))
            return "../" * source.path.count("/") + (place or "")
    return resource_path(source.path, target, images)


def resource_path(path: str, target: str, images: str = "images") -> str:
    """Return an include's target relative to a file's folder. images: the folder of a module's images."""
    family = next((name for name in _FAMILIES if name in target), "")
    module = _MODULE.match(path)
    if not family or module is None:
        return target
    names, _, inner = target.partition(family)
    name = names.rstrip(":").rpartition(":")[2] or module[1]
    up = path.count("/", module.start(1))
    return "../" * up + f"{name}/{images if family == 'image$' else _FAMILIES[family]}/{inner}"
