"""A stage's policy and models: checked before anything is deployed, and given to those who need them only."""

import json
from pathlib import Path
from typing import Any

import pytest

from infra.app import build
from infra.checks import check, synthesise
from infra.constructs.compaction import FILTERS
from infra.settings import Settings, SettingsError
from infra.stage_check import check_stage
from tests.support.assets import SmallAssets
from tests.support.templates import Assembly, function_of, resources, statements_of, the_only

POLICY = {"trigger": {"type": "turn_count", "max_turns": 20}, "strategy": {"type": "turn_window", "max_turns": 10}}
BEDROCK = {"provider": "bedrock", "model": "eu.anthropic.claude-3-5-haiku-20241022-v1:0", "window_tokens": 200_000}
OPENAI = {"provider": "openai", "model": "small", "window_tokens": 32_000, "secret": "turnlog/openai"}


def settings(**context: Any) -> Settings:
    return Settings.from_context(context)


@pytest.fixture(scope="module")
def modelled(tmp_path_factory: pytest.TempPathFactory) -> Assembly:
    """The cloud stage with a policy and models; cdk-nag has looked at it."""
    folder = tmp_path_factory.mktemp("modelled")
    made = settings(compaction=POLICY, models={"haiku": BEDROCK, "small": OPENAI})
    app = build(made, assets=SmallAssets(folder), context={}, outdir=str(folder / "cdk.out"))
    check(app, made.stack_prefix, made.models)
    synthesise(app)
    return Assembly("cloud", folder / "cdk.out")


@pytest.mark.parametrize("as_text", [False, True])
def test_they_come_as_json_or_as_its_text(as_text: bool) -> None:
    """From cdk.json, or from a command line."""
    models = {"small": OPENAI}
    made = settings(
        **{name: json.dumps(v) if as_text else v for name, v in (("compaction", POLICY), ("models", models))}
    )
    assert (made.compaction, made.models) == (POLICY, models)
    assert settings().compaction_environment == {}


@pytest.mark.parametrize(
    ("context", "match"),
    [
        ({"compaction": "{"}, "compaction: must be JSON"),
        ({"compaction": "[]"}, "compaction: must be an object"),
        ({"models": "7"}, "models: must be an object"),
        ({"models": {"a": 7}}, "models: a must have a provider"),
        ({"models": {"a": {"provider": "openai"}}}, "models: a must have a model"),
        ({"models": {f"m{i}": OPENAI for i in range(40)}}, "at most 3000 bytes"),
    ],
)
def test_what_is_not_their_shape_is_refused(context: dict[str, Any], match: str) -> None:
    with pytest.raises(SettingsError, match=match):
        settings(**context)


@pytest.mark.parametrize(
    ("context", "match"),
    [
        ({"models": {"a": {**OPENAI, "window_tokens": 7}}}, "/a/window_tokens"),
        ({"models": {"a": {**OPENAI, "key": "sk-1"}}}, "/a/key"),
        ({"models": {"a b": OPENAI}}, "/a b"),
        ({"compaction": {**POLICY, "trigger": {"type": "turn_count"}}}, "/compaction/trigger/max_turns"),
        (
            {
                "compaction": {
                    **POLICY,
                    "strategy": {
                        "type": "recursive_summarization",
                        "max_events_to_keep": 10,
                        "overlap_size": 2,
                        "model": "x",
                    },
                }
            },
            "/compaction/strategy/model: is not a model of this stage; there is: none",
        ),
    ],
)
def test_the_library_looks_at_them_before_a_deploy(context: dict[str, Any], match: str) -> None:
    with pytest.raises(SettingsError, match=match):
        check_stage(settings(**context))


def test_what_is_right_passes() -> None:
    strategy = {"type": "recursive_summarization", "max_events_to_keep": 10, "overlap_size": 2, "model": "small"}
    check_stage(settings(models={"small": OPENAI}, compaction={**POLICY, "strategy": strategy}))
    check_stage(settings())


def test_every_function_gets_them(modelled: Assembly) -> None:
    for folder in ("session_api", "compaction_worker", "compaction_steps"):
        variables = function_of(modelled.service, folder)["Properties"]["Environment"]["Variables"]
        assert json.loads(variables["TURNLOG_COMPACTION"]) == POLICY
        assert list(json.loads(variables["TURNLOG_MODELS"])) == ["haiku", "small"]


def test_only_the_steps_may_ask_models_and_read_keys(modelled: Assembly) -> None:
    found = {
        folder: [
            s for s in statements_of(modelled.service, folder) if str(s["Action"]).startswith(("bedrock", "secrets"))
        ]
        for folder in ("session_api", "compaction_worker", "compaction_steps")
    }
    assert (found["session_api"], found["compaction_worker"]) == ([], [])
    model, secret = found["compaction_steps"]
    text = json.dumps(model["Resource"])
    assert model["Action"] == "bedrock:InvokeModel"
    assert ":bedrock:*::foundation-model/anthropic.claude-3-5-haiku-20241022-v1:0" in text
    assert ":inference-profile/eu.anthropic.claude-3-5-haiku-20241022-v1:0" in text
    assert secret["Action"] == "secretsmanager:GetSecretValue"
    assert ":secret:turnlog/openai-??????" in json.dumps(secret["Resource"])


def test_the_mapping_asks_for_what_the_worker_keeps(stage: Assembly) -> None:
    mapping = the_only(stage.service, "AWS::Lambda::EventSourceMapping")["Properties"]
    assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert mapping["BisectBatchOnFunctionError"] is True
    assert mapping["StartingPosition"] == "TRIM_HORIZON"
    assert (mapping["MaximumRetryAttempts"], mapping["MaximumRecordAgeInSeconds"]) == (6, 6 * 3600)
    (queue,) = (n for n, r in stage.service["Resources"].items() if r["Type"] == "AWS::SQS::Queue")
    assert mapping["DestinationConfig"]["OnFailure"]["Destination"] == {"Fn::GetAtt": [queue, "Arn"]}
    assert [json.loads(one["Pattern"]) for one in mapping["FilterCriteria"]["Filters"]] == list(FILTERS)


def test_the_queue_keeps_what_it_gets_for_14_days_and_takes_nothing_without_tls(stage: Assembly) -> None:
    assert the_only(stage.service, "AWS::SQS::Queue")["Properties"]["MessageRetentionPeriod"] == 14 * 86_400
    policy = the_only(stage.service, "AWS::SQS::QueuePolicy")["Properties"]["PolicyDocument"]["Statement"]
    assert [(s["Effect"], s["Condition"]) for s in policy] == [("Deny", {"Bool": {"aws:SecureTransport": "false"}})]


def test_the_machine_logs_no_content_and_knows_one_function(stage: Assembly) -> None:
    machine = the_only(stage.service, "AWS::StepFunctions::StateMachine")["Properties"]
    assert machine["LoggingConfiguration"]["IncludeExecutionData"] is False
    assert machine["TracingConfiguration"] == {"Enabled": True}
    (name,) = machine["DefinitionSubstitutions"]
    assert name == "Steps"
    definition = json.loads(machine["DefinitionString"])
    assert definition["TimeoutSeconds"] < 20 * 60, "shorter than the lease of a try"


def test_the_machine_leads_every_state_somewhere() -> None:
    """Each Next, Default and Catch names a state; every task is tried again and has a time limit."""
    text = (Path(__file__).parents[2] / "infra" / "state_machines" / "compaction.asl.json").read_text()
    _check_states(json.loads(text))


def _check_states(machine: dict[str, Any]) -> None:
    states: dict[str, Any] = machine["States"]
    assert machine["StartAt"] in states
    for name, state in states.items():
        targets = [state.get("Next"), state.get("Default")]
        targets += [choice["Next"] for choice in state.get("Choices", [])]
        targets += [catch["Next"] for catch in state.get("Catch", [])]
        assert {target for target in targets if target} <= states.keys(), name
        assert any(targets) or state.get("End") or state["Type"] in ("Succeed", "Fail"), name
        if state["Type"] == "Task":
            assert state["Retry"][0]["ErrorEquals"] == ["States.ALL"], "no rule by an error's name"
            assert state["TimeoutSeconds"] <= 300
        if "ItemProcessor" in state:
            _check_states(state["ItemProcessor"])


def test_only_the_rule_and_nobody_else_may_call_the_worker(stage: Assembly) -> None:
    permissions = [
        p["Properties"]
        for p in resources(stage.service, "AWS::Lambda::Permission")
        if "Worker" in str(p["Properties"]["FunctionName"])
    ]
    (permission,) = permissions
    (rule,) = (n for n, r in stage.service["Resources"].items() if r["Type"] == "AWS::Events::Rule")
    assert permission["Principal"] == "events.amazonaws.com"
    assert permission["SourceArn"] == {"Fn::GetAtt": [rule, "Arn"]}
