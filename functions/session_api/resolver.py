"""From a gateway event to a route and back: the table on Powertools' resolver, errors as problems."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

from aws_lambda_powertools.event_handler.api_gateway import APIGatewayHttpResolver, Response
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
Run = Callable[[Call], Answer]


class Resolver:
    """The Lambda handler over ``dependencies``, which are asked for by the first route that needs
    them: the public routes work without any."""

    def __init__(self, dependencies: Callable[[], Dependencies]) -> None:
        self._dependencies = dependencies
        self._app = APIGatewayHttpResolver(serializer=_ready)
        for route in ROUTES:
            self._app.route(route.rule, method=route.method)(self._endpoint(route))
        self._app.not_found(lambda _: self._respond(NO_ROUTE, {}, self._refuse))
        self._resolve = logger.inject_lambda_context(self._app.resolve, clear_state=True)

    def __call__(self, event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
        """Answer one HTTP API event (payload format 2.0)."""
        answer: dict[str, Any] = self._resolve(event, context)
        return answer

    def _endpoint(self, route: Route) -> Callable[[], Response[Any]]:
        """The route, if it is the one that the gateway checked the token's scope for.

        Both match the path, but the gateway may have seen it encoded (``a%2Fevents`` is one
        segment to it): what it let in under another route's guard is no request for this one.
        """

        def endpoint() -> Response[Any]:
            if self._app.current_event.raw_event["routeKey"] != route.key:
                return self._respond(NO_ROUTE, {}, self._refuse)
            params = route.params(self._app.current_event.path)
            return self._respond(route.key, params or {}, route.run)

        return endpoint

    def _respond(self, key: str, params: Mapping[str, str], run: Run) -> Response[Any]:
        event = self._app.current_event.raw_event
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
        headers = {**answer.headers, "x-request-id": request_id}
        return Response(answer.status, answer.content_type, proxy_body(answer.body), headers)

    def _refuse(self, call: Call) -> Answer:
        event = self._app.current_event
        allowed = methods_of(event.path)
        if allowed and event.http_method not in allowed:
            raise MethodNotAllowed(event.http_method, allowed)
        raise RouteNotFound("There is nothing at this path.")


def _ready(body: Any) -> Any:
    """Bodies are JSON already. Powertools would serialise bytes before it turns them into base64."""
    return body
