"""The description of the interface, made of the same records as its routes: it can't say anything else."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

import msgspec
import msgspec.structs

from memory_pipeline import __version__
from memory_pipeline.web.answers import FaultAnswer
from memory_pipeline.web.endpoints import ID_PATTERN, Endpoint

_VARIABLE = re.compile(r"\{(\w+)\}")
#: What any call may answer beside what it is for.
_ALWAYS: Mapping[int, str] = {
    400: "The request is malformed.",
    401: "The token is missing, unknown or revoked.",
    413: "The body is too large.",
    421: "This server does not go by the name in Host.",
    422: "A value does not fit, or is refused.",
    429: "Too many requests; Retry-After says when the next may come.",
    500: "A fault of ours.",
    503: "The database is damaged or can't be used, or the server is stopping.",
}
_CHANGING: Mapping[int, str] = {403: "The request comes from a page of another site."}


def describe(endpoints: Sequence[Endpoint]) -> dict[str, Any]:
    """Return the OpenAPI document of some endpoints."""
    types = [FaultAnswer, *(one.answer for one in endpoints), *(one.body for one in endpoints if one.body)]
    schemas, components = msgspec.json.schema_components(types, ref_template="#/components/schemas/{name}")
    by_type = {id(kind): schema for kind, schema in zip(types, schemas, strict=True)}
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint, by_type)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "memory-pipeline",
            "version": __version__,
            "description": "Memories, settings and tasks of one user: the one whom the token stands for.",
        },
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(endpoint: Endpoint, by_type: Mapping[int, Any]) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": endpoint.name,
        "summary": endpoint.summary,
        "parameters": [*_path_parameters(endpoint), *_query_parameters(endpoint)],
        "responses": _responses(endpoint, by_type),
    }
    if endpoint.body is not None:
        must = any(field.required for field in msgspec.structs.fields(endpoint.body))
        operation["requestBody"] = {"required": must, "content": _json(by_type[id(endpoint.body)])}
    return operation


def _path_parameters(endpoint: Endpoint) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "pattern": ID_PATTERN}}
        for name in _VARIABLE.findall(endpoint.path)
    ]


def _query_parameters(endpoint: Endpoint) -> list[dict[str, Any]]:
    (_, components) = msgspec.json.schema_components([endpoint.query], ref_template="#/components/schemas/{name}")
    schema = components[endpoint.query.__name__]
    return [
        {
            "name": name,
            "in": "query",
            "required": name in schema.get("required", ()),
            "schema": _resolved(one, components),
        }
        for name, one in schema.get("properties", {}).items()
    ]


def _resolved(schema: Any, components: Mapping[str, Any]) -> Any:
    """Return a schema of a parameter with what it refers to put in its place."""
    if isinstance(schema, Mapping):
        if "$ref" in schema:
            return _resolved(components[schema["$ref"].rsplit("/", 1)[-1]], components)
        return {name: _resolved(one, components) for name, one in schema.items() if not _is_default_none(name, one)}
    return [_resolved(one, components) for one in schema] if isinstance(schema, list) else schema


def _is_default_none(name: str, value: Any) -> bool:
    return name == "default" and value is None


def _responses(endpoint: Endpoint, by_type: Mapping[int, Any]) -> dict[str, Any]:
    of_ids = {404: "There is nothing of this id."} if "{" in endpoint.path else {}
    of_changes = {} if endpoint.method == "GET" else _CHANGING
    faults = {**_ALWAYS, **of_changes, **of_ids, **endpoint.faults}
    fault = by_type[id(FaultAnswer)]
    answers = {str(status): {"description": told, "content": _json(fault)} for status, told in faults.items()}
    done = {"description": HTTPStatus.OK.phrase, "content": _json(by_type[id(endpoint.answer)])}
    return {"200": done, **dict(sorted(answers.items()))}


def _json(schema: Any) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}
