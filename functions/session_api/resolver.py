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
from .identity import Guard
from .observability import Watch, logger
from .payload import proxy_body
from .problems import InternalError, MethodNotAllowed, RouteNotFound, problem_of
from .routes.table import ROUTES, TWIN, Route, methods_of, twin_methods_of

NO_ROUTE = "none"
NOTHING_HERE = "There is nothing at this path."
Json = dict[str, Any]
Run = Callable[[Call], Answer]


class Resolver:
    """The Lambda handler over ``dependencies``, which are asked for by the first route that needs
    them: the public routes work without any."""

    def __init__(self, dependencies: Callable[[], Dependencies]) -> None:
        self._dependencies = dependencies
        self._routes = _by_key()
        self._resolve = logger.inject_lambda_context(self._answer, clear_state=True)

    def __call__(self, event: Json, context: LambdaContext) -> Json:
        """Answer one HTTP API event (payload format 2.0)."""
        answer: Json = self._resolve(event, context)
        return answer

    def _answer(self, event: Json, _: LambdaContext) -> Json:
        path, key = _path(event), event["routeKey"]
        route, guard = self._routes.get(key, (None, None))
        params = _params(route, event, _below_twin(path) if guard == "iam" else path)
        if route is None or guard is None or params is None:
            return self._respond(event, NO_ROUTE, Call(event, NO_ROUTE, {}, self._dependencies), self._refuse(path))
        run = route.run if guard == "jwt" else self._signed(route.run)
        return self._respond(event, key, Call(event, route.key, params, self._dependencies, guard), run)

    def _signed(self, run: Run) -> Run:
        """The route, where the stage has a twin at all."""

        def signed(call: Call) -> Answer:
            if not self._has_twin():
                raise RouteNotFound(NOTHING_HERE)
            return run(call)

        return signed

    def _refuse(self, path: str) -> Run:
        def refuse(call: Call) -> Answer:
            below = _below_twin(path)
            allowed = methods_of(path) if below is None else twin_methods_of(below) if self._has_twin() else ()
            if allowed and call.method not in allowed:
                raise MethodNotAllowed(call.method, allowed)
            raise RouteNotFound(NOTHING_HERE)

        return refuse

    def _has_twin(self) -> bool:
        return bool(self._dependencies().settings.principals)

    def _respond(self, event: Json, key: str, call: Call, run: Run) -> Json:
        request_id: str = event["requestContext"]["requestId"]
        watch = Watch(key, request_id)

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


def _by_key() -> dict[str, tuple[Route, Guard]]:
    """Each route of the gateway, and what it checks before it lets a request in. Operations keep their names under
    the twin: a key or a cursor of one way in is of use in the other."""
    found: dict[str, tuple[Route, Guard]] = {}
    for route in ROUTES:
        found[route.key] = (route, "jwt")
        if route.scope is not None:
            found[f"{route.method} {TWIN}{route.path}"] = (route, "iam")
    return found


def _path(event: Json) -> str:
    """The path without the name of a stage, which the gateway puts in front unless the stage is ``$default``."""
    path: str = event["rawPath"]
    stage: str = event["requestContext"]["stage"]
    return path if stage == "$default" else path.removeprefix(f"/{stage}")


def _below_twin(path: str) -> str | None:
    """The path below ``TWIN``; None for one that is not there."""
    return path.removeprefix(TWIN) if path.startswith(f"{TWIN}/") else None


def _params(route: Route | None, event: Json, path: str | None) -> Mapping[str, str] | None:
    """The parameters of the route that the gateway picked; None when the request is not one for it.

    The gateway has checked the token for the scope of the route that it picked, and it may have seen the path encoded
    (``a%2Fevents`` is one segment to it): what it let in under another route's guard is no request for this one.
    """
    if route is None or path is None or route.method != event["requestContext"]["http"]["method"]:
        return None
    return route.params(path)


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
