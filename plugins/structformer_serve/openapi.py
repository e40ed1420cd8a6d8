"""The API's description (OpenAPI 3.1), made from the models that check requests."""

import json
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlencode

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from structformer import __version__

from structformer_serve import schemas

_MODELS = (
    schemas.SearchAnswer,
    schemas.SectionAnswer,
    schemas.DocumentAnswer,
    schemas.AskRequest,
    schemas.FeedbackRequest,
    schemas.Status,
    schemas.Problem,
)
_SENT = (schemas.AskRequest, schemas.FeedbackRequest)
_ID = {
    "name": "id",
    "in": "path",
    "required": True,
    "schema": {"type": "string", "minLength": 1, "maxLength": 1000},
    "description": "A document's id.",
}
_SAYS = "Server-sent events: refused; or sections, text as it comes, done with citations and further questions; error."
_EVENTS = {"200": {"description": _SAYS, "content": {"text/event-stream": {"schema": {"type": "string"}}}}}
_FEEDBACK, _KEPT = "Tell what was opened, or that nothing fits.", {"description": "Kept."}
# Of each operation its group, and what a call of it may have.
_CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "search": ("Search", {"q": "how to begin", "k": 3}),
    "ask": ("Search", {"q": "how do I begin?"}),
    "section": ("Read", {"id": "guide/install.md", "anchor": "linux"}),
    "document": ("Read", {"id": "guide/install.md"}),
    "feedback": ("Feedback", {"event": "click", "query": "how to begin", "document": "guide/install.md"}),
    "status": ("Server", {}),
    "healthz": ("Server", {}),
    "readyz": ("Server", {}),
}


def openapi(title: str, root: str, pipelines: Iterable[str]) -> dict[str, Any]:
    """Return the document. title: of the search; root: what precedes all paths; pipelines: those that may be named."""
    searching = _parameters(schemas.SearchRequest)
    reading = [_ID, *_parameters(schemas.SectionRequest)]
    next(each for each in searching if each["name"] == "pipeline")["schema"] = {"type": "string", "enum": [*pipelines]}
    _, models = models_json_schema(
        [(each, "validation" if each in _SENT else "serialization") for each in _MODELS],
        ref_template="#/components/schemas/{model}",
    )
    return {
        "openapi": "3.1.0",
        "info": {"title": title, "version": __version__},
        "servers": [{"url": root or "/"}],
        "paths": {
            "/api/search": {"get": _asked("search", "Search.", "SearchAnswer", searching, 404)},
            "/api/ask": {"post": _posted("ask", "An answer by the language model of --ask.", "AskRequest", _EVENTS)},
            "/api/section/{id}": {"get": _asked("section", "Read a section.", "SectionAnswer", reading, 404)},
            "/api/document/{id}": {
                "get": _asked("document", "A document's tree and what links to it.", "DocumentAnswer", [_ID], 404)
            },
            "/api/feedback": {"post": _posted("feedback", _FEEDBACK, "FeedbackRequest", {"204": _KEPT})},
            "/api/status": {"get": _asked("status", "What there is to search.", "Status", [])},
            "/healthz": {"get": _probed("healthz", "Whether the server lives.")},
            "/readyz": {"get": _probed("readyz", "Whether it takes requests.")},
        },
        "components": {
            "schemas": models["$defs"],
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def example_call(path: str, operation: Mapping[str, Any]) -> str:
    """Return an example call of an operation: its address, or the JSON that is sent; "" for the path alone."""
    if "requestBody" in operation:
        return json.dumps(operation["requestBody"]["content"]["application/json"]["example"])
    values = {each["name"]: each["example"] for each in operation.get("parameters", ()) if "example" in each}
    if not values:
        return ""
    path = path.replace("{id}", values.pop("id", ""))
    return f"{path}?{urlencode(values)}" if values else path


def _operation(name: str, summary: str, answers: dict[str, Any], **asked: Any) -> dict[str, Any]:
    return {"operationId": name, "tags": [_CALLS[name][0]], "summary": summary, **asked, "responses": answers}


def _asked(name: str, summary: str, answer: str, parameters: list[dict[str, Any]], *codes: int) -> dict[str, Any]:
    example = _CALLS[name][1]
    shown = [{**each, "example": example[each["name"]]} if each["name"] in example else each for each in parameters]
    answers = {"description": "Found.", "content": _content(answer)}
    return _operation(name, summary, {"200": answers, **_problems(422, *codes)}, parameters=shown)


def _posted(name: str, summary: str, model: str, answers: dict[str, Any]) -> dict[str, Any]:
    body = {"required": True, "content": _content(model, example=_CALLS[name][1])}
    return _operation(name, summary, {**answers, **_problems(400, 404, 422)}, requestBody=body)


def _probed(name: str, summary: str) -> dict[str, Any]:
    text = {"text/plain": {"schema": {"type": "string"}}}
    answers = {"200": {"description": "Yes.", "content": text}, "503": {"description": "No.", "content": text}}
    return _operation(name, summary, answers)


def _content(model: str, **example: Any) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": f"#/components/schemas/{model}"}, **example}}


def _problems(*codes: int) -> dict[str, Any]:
    problem = {"description": "Not possible.", "content": _content("Problem")}
    return {str(code): problem for code in (*codes, 401, 403, 413, 429, 503)}


def _parameters(model: type[BaseModel]) -> list[dict[str, Any]]:
    schema = model.model_json_schema()
    return [
        {
            "name": name,
            "in": "query",
            "required": name in schema.get("required", ()),
            "schema": _without_null({key: value for key, value in spec.items() if key not in ("title", "description")}),
            "description": spec.get("description", ""),
        }
        for name, spec in schema["properties"].items()
    ]


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """A parameter is left out rather than null."""
    kinds = [each for each in schema.get("anyOf", ()) if each.get("type") != "null"]
    return kinds[0] if len(kinds) == 1 else schema
