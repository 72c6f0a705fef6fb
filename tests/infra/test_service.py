"""The stateless stack: who may call what, and what the function may do."""

import itertools
import json

import pytest

from infra.constructs.http_api import ACCESS_LOG_FORMAT
from infra.routes import ROUTES
from infra.settings import CLOUD_ISSUER
from tests.support.templates import Assembly, Template, function_of, resources, statements_of, the_only

FUNCTIONS = ("session_api", "compaction_worker", "compaction_steps")
MACHINE = "CompactionMachine428F0520"
READ = ["sessions:read"]
WRITE = ["sessions:write"]
PUBLIC = ("NONE", None)
TOKEN_ONLY = ("JWT", None)

GUARDS = {
    "POST /v1/sessions": ("JWT", WRITE),
    "GET /v1/sessions": ("JWT", READ),
    "ANY /v1/sessions": TOKEN_ONLY,
    "GET /v1/sessions/{sid}": ("JWT", READ),
    "PATCH /v1/sessions/{sid}": ("JWT", WRITE),
    "DELETE /v1/sessions/{sid}": ("JWT", WRITE),
    "ANY /v1/sessions/{sid}": TOKEN_ONLY,
    "POST /v1/sessions/{sid}/events": ("JWT", WRITE),
    "GET /v1/sessions/{sid}/events": ("JWT", READ),
    "ANY /v1/sessions/{sid}/events": TOKEN_ONLY,
    "GET /v1/sessions/{sid}/events/{eid}": ("JWT", READ),
    "ANY /v1/sessions/{sid}/events/{eid}": TOKEN_ONLY,
    "POST /v1/sessions/{sid}/uploads": ("JWT", WRITE),
    "ANY /v1/sessions/{sid}/uploads": TOKEN_ONLY,
    "GET /v1/sessions/{sid}/uploads/{ref}": ("JWT", READ),
    "ANY /v1/sessions/{sid}/uploads/{ref}": TOKEN_ONLY,
    "POST /v1/sessions/{sid}/compactions": ("JWT", WRITE),
    "GET /v1/sessions/{sid}/compactions": ("JWT", READ),
    "ANY /v1/sessions/{sid}/compactions": TOKEN_ONLY,
    "GET /v1/sessions/{sid}/compactions/{cid}": ("JWT", READ),
    "ANY /v1/sessions/{sid}/compactions/{cid}": TOKEN_ONLY,
    "POST /v1/sessions/{sid}/compactions/{cid}/undo": ("JWT", WRITE),
    "ANY /v1/sessions/{sid}/compactions/{cid}/undo": TOKEN_ONLY,
    "GET /v1/health": PUBLIC,
    "ANY /v1/health": PUBLIC,
    "GET /v1/openapi.json": PUBLIC,
    "ANY /v1/openapi.json": PUBLIC,
    "$default": PUBLIC,
}


def _routes(template: Template) -> list[dict[str, object]]:
    return [route["Properties"] for route in resources(template, "AWS::ApiGatewayV2::Route")]


def test_each_route_has_exactly_its_guard(stage: Assembly) -> None:
    """docs/decisions/0101: a route missing here is open to nobody or to everybody."""
    found = {
        route["RouteKey"]: (route["AuthorizationType"], route.get("AuthorizationScopes"))
        for route in _routes(stage.service)
    }
    assert GUARDS == found


def test_every_entry_of_the_route_table_is_deployed_under_v1() -> None:
    assert {f"{route.method} /v1{route.path}" for route in ROUTES} <= set(GUARDS)


def test_guarded_routes_use_the_one_authorizer_and_all_lead_to_the_one_function(stage: Assembly) -> None:
    template = stage.service
    (authorizer,) = (k for k, v in template["Resources"].items() if v["Type"] == "AWS::ApiGatewayV2::Authorizer")
    (integration,) = (k for k, v in template["Resources"].items() if v["Type"] == "AWS::ApiGatewayV2::Integration")
    for route in _routes(template):
        expected = None if route["AuthorizationType"] == "NONE" else {"Ref": authorizer}
        assert expected == route.get("AuthorizerId")
        assert {"Fn::Join": ["/", ["integrations", {"Ref": integration}]]} == route["Target"]


def test_public_routes_and_only_they_have_a_limit_of_their_own(stage: Assembly) -> None:
    gateway_stage = the_only(stage.service, "AWS::ApiGatewayV2::Stage")
    public = {key for key, guard in GUARDS.items() if guard == PUBLIC}
    limits = gateway_stage["Properties"]["RouteSettings"]
    assert {key: {"ThrottlingRateLimit": 50, "ThrottlingBurstLimit": 100} for key in public} == limits
    keys = {stage.service["Resources"][name]["Properties"]["RouteKey"] for name in gateway_stage["DependsOn"]}
    assert public == keys, "the stage can only be made when the routes that it limits exist"


def test_the_access_log_tells_no_path_claim_address_or_token() -> None:
    """Session ids and users stand in paths and claims."""
    fields = set(json.loads(ACCESS_LOG_FORMAT).values())
    assert {"$context.routeKey", "$context.status", "$context.requestId"} <= fields
    assert not [name for name in fields for word in ("path", "claims", "sourceIp", "principal") if word in name]


def test_the_issuer_of_a_cloud_deploy_is_a_guarded_parameter_without_a_default(cloud: Assembly) -> None:
    parameters = cloud.service["Parameters"]
    assert CLOUD_ISSUER == parameters["Issuer"]["AllowedPattern"]
    assert not [name for name in ("Issuer", "Audience") if "Default" in parameters[name]]
    jwt = the_only(cloud.service, "AWS::ApiGatewayV2::Authorizer")["Properties"]["JwtConfiguration"]
    assert {"Issuer": {"Ref": "Issuer"}, "Audience": {"Ref": "Audience"}} == jwt


def test_a_given_issuer_stands_in_the_template(local: Assembly) -> None:
    jwt = the_only(local.service, "AWS::ApiGatewayV2::Authorizer")["Properties"]["JwtConfiguration"]
    assert {"Issuer": "http://127.0.0.1:8788/issuer", "Audience": ["turnlog"]} == jwt


def _import(stage: Assembly, export: str) -> dict[str, str]:
    return {"Fn::ImportValue": f"Turnlog-{stage.stage}-Storage:{export}"}


def _join(*parts: object) -> dict[str, object]:
    return {"Fn::Join": ["", list(parts)]}


def test_the_function_may_do_exactly_this(stage: Assembly) -> None:
    """No Scan, no PartiQL, nothing on the bucket itself, no log group but its own."""
    table = _import(stage, "ExportsOutputFnGetAttSessionTable440DAA5FArn75BA8C50")
    bucket = _import(stage, "ExportsOutputFnGetAttBodyBucket96CB3252Arn9DE7C9CF")
    assert [
        {
            "Action": ["logs:CreateLogStream", "logs:PutLogEvents"],
            "Effect": "Allow",
            "Resource": {"Fn::GetAtt": ["SessionApiFunctionLogs5B8B4A1E", "Arn"]},
        },
        {
            "Action": [
                "dynamodb:BatchGetItem",
                "dynamodb:ConditionCheckItem",
                "dynamodb:DeleteItem",
                "dynamodb:GetItem",
                "dynamodb:PutItem",
                "dynamodb:Query",
                "dynamodb:UpdateItem",
            ],
            "Effect": "Allow",
            "Resource": table,
        },
        {
            "Action": "dynamodb:Query",
            "Effect": "Allow",
            "Resource": [_join(table, "/index/by_activity"), _join(table, "/index/by_created")],
        },
        {
            "Action": ["s3:GetObject", "s3:PutObject"],
            "Effect": "Allow",
            "Resource": [_join(bucket, "/l/*"), _join(bucket, "/t/*")],
        },
        {"Action": "states:StartExecution", "Effect": "Allow", "Resource": {"Ref": MACHINE}},
    ] == statements_of(stage.service, "session_api")


def test_no_grant_names_every_resource_or_every_action(stage: Assembly) -> None:
    """But for dynamodb:ListStreams, which takes no resource."""
    for folder in FUNCTIONS:
        for statement in statements_of(stage.service, folder):
            if statement["Action"] == "dynamodb:ListStreams":
                continue
            actions = statement["Action"] if isinstance(statement["Action"], list) else [statement["Action"]]
            found = statement["Resource"] if isinstance(statement["Resource"], list) else [statement["Resource"]]
            assert "*" not in found
            assert not [action for action in actions if "*" in action]


def test_the_gateway_and_nobody_else_may_call_the_function(stage: Assembly) -> None:
    (permission,) = (
        p["Properties"]
        for p in resources(stage.service, "AWS::Lambda::Permission")
        if "SessionApi" in str(p["Properties"]["FunctionName"])
    )
    assert ("lambda:InvokeFunction", "apigateway.amazonaws.com") == (permission["Action"], permission["Principal"])
    source = permission["SourceArn"]["Fn::Join"][1]
    assert [{"Ref": "HttpApiDD77E489"}, "/*/*"] == source[-2:]


def test_the_functions_environment(cloud: Assembly) -> None:
    function = function_of(cloud.service, "session_api")["Properties"]
    assert {
        "TURNLOG_STAGE": "cloud",
        "TURNLOG_COMPACTION_MACHINE": {"Ref": MACHINE},
        "TURNLOG_TABLE": _import(cloud, "ExportsOutputRefSessionTable440DAA5FC72CC753"),
        "TURNLOG_BUCKET": _import(cloud, "ExportsOutputRefBodyBucket96CB32520AEB571D"),
        "TURNLOG_TENANT_CLAIM": "custom:tenant",
        "TURNLOG_USER_CLAIM": "sub",
        "TURNLOG_ALLOW_SYSTEM_MESSAGES": "false",
        "POWERTOOLS_SERVICE_NAME": "session_api",
        "POWERTOOLS_METRICS_NAMESPACE": "Turnlog",
        "POWERTOOLS_LOG_LEVEL": "INFO",
    } == function["Environment"]["Variables"]
    assert ("session_api.handler.lambda_handler", 1024, 29) == (
        function["Handler"],
        function["MemorySize"],
        function["Timeout"],
    )


@pytest.mark.parametrize("folder", FUNCTIONS)
def test_a_function_has_both_layers_for_its_own_runtime(stage: Assembly, folder: str) -> None:
    function = function_of(stage.service, folder)["Properties"]
    layers = resources(stage.service, "AWS::Lambda::LayerVersion")
    assert 2 == len(function["Layers"]) == len(layers)
    for layer in layers:
        assert [function["Runtime"]] == layer["Properties"]["CompatibleRuntimes"]
        assert function["Architectures"] == layer["Properties"]["CompatibleArchitectures"]


def test_functions_and_layers_are_all_different_assets(stage: Assembly) -> None:
    """Two functions with the same hash is what an empty asset looks like."""
    functions = [function_of(stage.service, folder)["Properties"]["Code"] for folder in FUNCTIONS]
    layers = [layer["Properties"]["Content"] for layer in resources(stage.service, "AWS::Lambda::LayerVersion")]
    assert len(FUNCTIONS) + 2 == len({content["S3Key"] for content in [*functions, *layers]})


def test_every_log_group_forgets_after_a_month_and_goes_with_its_stack(stage: Assembly) -> None:
    groups = resources(stage.service, "AWS::Logs::LogGroup")
    assert len(FUNCTIONS) + 2 == len(groups), "one of each function, of the gateway and of the state machine"
    assert {(30, "Delete")} == {(group["Properties"]["RetentionInDays"], group["DeletionPolicy"]) for group in groups}
    used = {
        f["Properties"]["LoggingConfig"]["LogGroup"]["Ref"] for f in resources(stage.service, "AWS::Lambda::Function")
    }
    assert len(FUNCTIONS) == len(used)
    assert {"AWS::Logs::LogGroup"} == {stage.service["Resources"][name]["Type"] for name in used}


def test_the_outputs_name_the_api(stage: Assembly) -> None:
    assert {"ApiUrl", "ApiId"} <= set(stage.service["Outputs"])


@pytest.mark.parametrize("stack", ["Storage", "Service"])
def test_only_resource_types_that_the_local_engine_has(stage: Assembly, stack: str) -> None:
    """It refuses a whole template for one type that it does not know."""
    kinds = {resource["Type"] for resource in stage.template(stack)["Resources"].values()}
    assert kinds <= {
        "AWS::ApiGatewayV2::Api",
        "AWS::ApiGatewayV2::Authorizer",
        "AWS::ApiGatewayV2::Integration",
        "AWS::ApiGatewayV2::Route",
        "AWS::ApiGatewayV2::Stage",
        "AWS::DynamoDB::Table",
        "AWS::Events::Rule",
        "AWS::IAM::Policy",
        "AWS::IAM::Role",
        "AWS::Lambda::EventSourceMapping",
        "AWS::Lambda::Function",
        "AWS::Lambda::LayerVersion",
        "AWS::Lambda::Permission",
        "AWS::Logs::LogGroup",
        "AWS::S3::Bucket",
        "AWS::S3::BucketPolicy",
        "AWS::SQS::Queue",
        "AWS::SQS::QueuePolicy",
        "AWS::StepFunctions::StateMachine",
    }


def test_the_templates_fit_into_one_request(stage: Assembly) -> None:
    """CloudFormation takes 51,200 bytes in TemplateBody; more would need a bucket."""
    sizes = [len(json.dumps(stage.template(stack), separators=(",", ":"))) for stack in ("Storage", "Service")]
    assert max(sizes) < 51_200


def test_the_local_assembly_needs_no_bootstrap_and_names_its_bucket_plainly(local: Assembly) -> None:
    """Its deployer uploads to the names in the manifests, without filling anything in."""
    manifests = [json.loads(path.read_text()) for path in local.folder.glob("*.assets.json")]
    files = list(itertools.chain.from_iterable(manifest["files"].values() for manifest in manifests))
    assert len(FUNCTIONS) + 4 == len(files), "functions, two layers, two templates"
    for file in files:
        (destination,) = file["destinations"].values()
        assert "turnlog-local-assets" == destination["bucketName"]
        assert "file" == file["source"]["packaging"]
        assert (local.folder / file["source"]["path"]).is_file()
