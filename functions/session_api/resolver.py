"""From a gateway event to a route and back: the table of routes, errors as problems, the proxy answer.

The gateway has matched the route already. Powertools' resolver would match it again, and it brings the resolvers of
every other event source with it: 150 modules more at each cold start.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

from aws_lambda_powertools.utilities.typing import LambdaContext

from turnlog.domain.errors import TurnlogError

from .answer import Answer
from .call import Call
from .dependencies import Dependencies
from .observability import Watch, logger
from .payload import proxy_body
from .problems import InternalError, MethodNotAllowed, RouteNotFound, problem_of
from .routes.table import ROUTES, Route, methods_of

NO_ROUTE = "none"
Json = dict[str, Any]
Run = Callable[[Call], Answer]


class Resolver:
    """The Lambda handler over ``dependencies``, which are asked for by the first route that needs
    them: the public routes work without any."""

    def __init__(self, dependencies: Callable[[], Dependencies]) -> None:
        self._dependencies = dependencies
        self._routes = {route.key: route for route in ROUTES}
        self._resolve = logger.inject_lambda_context(self._answer, clear_state=True)

    def __call__(self, event: Json, context: LambdaContext) -> Json:
        """Answer one HTTP API event (payload format 2.0)."""
        answer: Json = self._resolve(event, context)
        return answer

    def _answer(self, event: Json, _: LambdaContext) -> Json:
        path = _path(event)
        route = self._routes.get(event["routeKey"])
        params = _params(route, event, path)
        if route is None or params is None:
            return self._respond(event, NO_ROUTE, {}, lambda _: _refuse(event, path))
        return self._respond(event, route.key, params, route.run)

    def _respond(self, event: Json, key: str, params: Mapping[str, str], run: Run) -> Json:
        request_id: str = event["requestContext"]["requestId"]
        watch = Watch(key, request_id)
        call = Call(event, key, params, self._dependencies)

        def problem(error: TurnlogError) -> Answer:
            instance = quote(event["rawPath"], safe="/:%~@!$&'()*+,;=", errors="replace")
            return problem_of(error, instance=instance, request_id=request_id)

        try:
            answer = run(call)
        except TurnlogError as error:
            answer = problem(error)
            if answer.status >= 500:
                watch.failed(error)
        except Exception as error:  # noqa: BLE001  (the edge: whatever it is becomes an answer)
            watch.failed(error)
            answer = problem(InternalError("Something went wrong here; the log has it under this request_id."))
        watch.finish(answer, call.known_identity)
        return _proxy(answer, request_id)


def _path(event: Json) -> str:
    """The path without the name of a stage, which the gateway puts in front unless the stage is ``$default``."""
    path: str = event["rawPath"]
    stage: str = event["requestContext"]["stage"]
    return path if stage == "$default" else path.removeprefix(f"/{stage}")


def _params(route: Route | None, event: Json, path: str) -> Mapping[str, str] | None:
    """The parameters of the route that the gateway picked; None when the request is not one for it.

    The gateway has checked the token for the scope of the route that it picked, and it may have seen the path encoded
    (``a%2Fevents`` is one segment to it): what it let in under another route's guard is no request for this one.
    """
    if route is None or route.method != event["requestContext"]["http"]["method"]:
        return None
    return route.params(path)


def _refuse(event: Json, path: str) -> Answer:
    method: str = event["requestContext"]["http"]["method"]
    allowed = methods_of(path)
    if allowed and method not in allowed:
        raise MethodNotAllowed(method, allowed)
    raise RouteNotFound("There is nothing at this path.")


def _proxy(answer: Answer, request_id: str) -> Json:
    """The answer in the gateway's payload format 2.0."""
    headers = {**answer.headers, "x-request-id": request_id}
    if answer.content_type is not None:
        headers["Content-Type"] = answer.content_type
    body = proxy_body(answer.body)
    return {
        "statusCode": answer.status,
        "headers": headers,
        "body": base64.b64encode(body).decode("ascii") if isinstance(body, bytes) else body,
        "isBase64Encoded": isinstance(body, bytes),
    }
