"""The routes for AWS workloads: the same, under /iam/v1, guarded by IAM."""

import json

from infra.routes import ROUTES
from tests.support.templates import Assembly, Template, function_of, resources


def _routes(template: Template) -> dict[str, dict[str, object]]:
    return {r["Properties"]["RouteKey"]: r["Properties"] for r in resources(template, "AWS::ApiGatewayV2::Route")}


def test_every_route_that_is_not_public_has_a_twin_and_no_other(secured: Assembly) -> None:
    found = {key for key in _routes(secured.service) if "/iam/" in key}
    protected = [route for route in ROUTES if not route.is_public]
    expected = {f"{route.method} /iam/v1{route.path}" for route in protected}
    assert expected | {f"ANY /iam/v1{route.path}" for route in protected} == found


def test_the_twin_is_guarded_by_iam_alone(secured: Assembly) -> None:
    """IAM knows no scopes; a token is no way in."""
    for key, route in _routes(secured.service).items():
        if "/iam/" in key:
            assert "AWS_IAM" == route["AuthorizationType"]
            assert "AuthorizerId" not in route
            assert "AuthorizationScopes" not in route


def test_the_other_routes_are_as_without_it(cloud: Assembly, secured: Assembly) -> None:
    after = _routes(secured.service)
    assert _routes(cloud.service) == {key: route for key, route in after.items() if "/iam/" not in key}


def test_the_function_is_told_who_may_call_it(secured: Assembly) -> None:
    variables = function_of(secured.service, "session_api")["Properties"]["Environment"]["Variables"]
    assert {"123456789012/Agents": ["acme", "umbrella"], "123456789012/Ops": "*"} == json.loads(
        variables["TURNLOG_IAM_PRINCIPALS"]
    )


def test_without_principals_there_is_no_twin(stage: Assembly) -> None:
    assert "/iam/" not in json.dumps(stage.service)
    assert "TURNLOG_IAM_PRINCIPALS" not in json.dumps(stage.service)


def test_even_with_it_the_template_stays_within_what_cloudformation_takes_from_a_bucket(secured: Assembly) -> None:
    """CloudFormation: 1 MB and 500 resources."""
    for path in secured.folder.glob("*.template.json"):
        assert path.stat().st_size < 1_000_000
        assert len(json.loads(path.read_text())["Resources"]) < 500
