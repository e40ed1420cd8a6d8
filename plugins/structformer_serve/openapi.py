"""The API's description (OpenAPI 3.1), made from the models that check requests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

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
_KEPT = {"description": "Kept."}
_EVENTS = {
    "description": "Server-sent events: refused; or sections, text as it comes, and done with the numbers that were "
    "cited; error in the place of what cannot be had.",
    "content": {"text/event-stream": {"schema": {"type": "string"}}},
}


def openapi(title: str, root: str, pipelines: Iterable[str]) -> dict[str, Any]:
    """The document. title: of the search; root: what precedes all paths; pipelines: those that may be named."""
    searching = _parameters(schemas.SearchRequest)
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
            "/api/search": {"get": _operation("search", "Search.", "SearchAnswer", searching, 404)},
            "/api/section/{id}": {
                "get": _operation(
                    "section", "Read a section.", "SectionAnswer", [_ID, *_parameters(schemas.SectionRequest)], 404
                )
            },
            "/api/document/{id}": {
                "get": _operation("document", "A document's tree and what links to it.", "DocumentAnswer", [_ID], 404)
            },
            "/api/status": {"get": _operation("status", "What there is to search.", "Status", [])},
            "/api/feedback": {
                "post": _sending(
                    "feedback", "Tell what was opened, or that nothing fits.", "FeedbackRequest", 204, _KEPT
                )
            },
            "/api/ask": {
                "post": _sending(
                    "ask", "An answer in words, by the language model of --ask.", "AskRequest", 200, _EVENTS
                )
            },
            "/healthz": {"get": _plain("healthz", "Whether the server lives.")},
            "/readyz": {"get": _plain("readyz", "Whether it takes requests.")},
        },
        "components": {
            "schemas": models["$defs"],
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _content(model: str) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": f"#/components/schemas/{model}"}}}


def _problems(*codes: int) -> dict[str, Any]:
    content = _content("Problem")
    return {
        str(code): {"description": "Not possible.", "content": content} for code in (*codes, 401, 403, 413, 429, 503)
    }


def _operation(name: str, summary: str, answer: str, parameters: list[dict[str, Any]], *codes: int) -> dict[str, Any]:
    answers = {"200": {"description": "Found.", "content": _content(answer)}, **_problems(422, *codes)}
    return {"operationId": name, "summary": summary, "parameters": parameters, "responses": answers}


def _sending(name: str, summary: str, sent: str, code: int, answer: dict[str, Any]) -> dict[str, Any]:
    body = {"required": True, "content": _content(sent)}
    answers = {str(code): answer, **_problems(400, 404, 422)}
    return {"operationId": name, "summary": summary, "requestBody": body, "responses": answers}


def _plain(name: str, summary: str) -> dict[str, Any]:
    text = {"text/plain": {"schema": {"type": "string"}}}
    answers = {"200": {"description": "Yes.", "content": text}, "503": {"description": "No.", "content": text}}
    return {"operationId": name, "summary": summary, "responses": answers}


def _parameters(model: type[BaseModel]) -> list[dict[str, Any]]:
    schema = model.model_json_schema()
    return [
        {
            "name": name,
            "in": "query",
            "required": name in schema.get("required", ()),
            "schema": _without_null({key: value for key, value in its.items() if key not in ("title", "description")}),
            "description": its.get("description", ""),
        }
        for name, its in schema["properties"].items()
    ]


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """A parameter is left out rather than null."""
    kinds = [each for each in schema.get("anyOf", ()) if each.get("type") != "null"]
    return kinds[0] if len(kinds) == 1 else schema
