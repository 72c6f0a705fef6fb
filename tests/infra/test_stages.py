"""The complete list of what differs between the cloud and the laptop."""

from tests.support.templates import Assembly, blanked, leaves

ABSENT = "(absent)"
FUNCTION = "Resources.SessionApiFunction1EE873D7.Properties"
DEPENDENCIES = "Resources.DependenciesLayerVersionE7C6C5B5.Properties"
LIBRARY = "Resources.LibraryLayerVersion526F04A1.Properties"
JWT = "Resources.HttpApiJwtAuthorizer2A384AB5.Properties.JwtConfiguration"
TABLE = "Resources.SessionTable440DAA5F"
BUCKET = "Resources.BodyBucket96CB3252"
ASSETS = "cdk-hnb659fds-assets-${AWS::AccountId}-${AWS::Region}"

STORAGE = {
    # Data outlives its stack in the cloud and goes with it on the laptop.
    f"{TABLE}.DeletionPolicy": ("Retain", "Delete"),
    f"{TABLE}.UpdateReplacePolicy": ("Retain", "Delete"),
    f"{TABLE}.Properties.DeletionProtectionEnabled": (True, False),
    f"{BUCKET}.DeletionPolicy": ("Retain", "Delete"),
    f"{BUCKET}.UpdateReplacePolicy": ("Retain", "Delete"),
}

FUNCTIONS = (
    FUNCTION,
    "Resources.CompactionWorkerFunctionC66EBB77.Properties",
    "Resources.CompactionStepsFunction6C99F1A6.Properties",
)

SERVICE = {
    # The laptop runs on its own Python and processor.
    **{f"{function}.Runtime": ("python3.13", "python3.11") for function in FUNCTIONS},
    **{f"{function}.Architectures[0]": ("arm64", "x86_64") for function in FUNCTIONS},
    f"{DEPENDENCIES}.CompatibleRuntimes[0]": ("python3.13", "python3.11"),
    f"{DEPENDENCIES}.CompatibleArchitectures[0]": ("arm64", "x86_64"),
    f"{LIBRARY}.CompatibleRuntimes[0]": ("python3.13", "python3.11"),
    f"{LIBRARY}.CompatibleArchitectures[0]": ("arm64", "x86_64"),
    # The laptop's stream pump reads the table's stream instead of Lambda, by the same settings.
    "Resources.CompactionStream9EB9E0E5.Properties.Enabled": (True, False),
    # The functions are told where they are, and people are.
    "Resources.HttpApiDD77E489.Properties.Name": ("turnlog-cloud", "turnlog-local"),
    **{f"{function}.Environment.Variables.TURNLOG_STAGE": ("cloud", "local") for function in FUNCTIONS},
    # The laptop's issuer is settled at synthesis; the cloud's is a parameter.
    f"{JWT}.Issuer": (ABSENT, "http://127.0.0.1:8788/issuer"),
    f"{JWT}.Issuer.Ref": ("Issuer", ABSENT),
    f"{JWT}.Audience[0]": (ABSENT, "turnlog"),
    f"{JWT}.Audience.Ref": ("Audience", ABSENT),
    # Assets: the account's bootstrap bucket, or a plain one.
    **{f"{function}.Code.S3Bucket": (ABSENT, "turnlog-local-assets") for function in FUNCTIONS},
    **{f"{function}.Code.S3Bucket.Fn::Sub": (ASSETS, ABSENT) for function in FUNCTIONS},
    f"{DEPENDENCIES}.Content.S3Bucket": (ABSENT, "turnlog-local-assets"),
    f"{DEPENDENCIES}.Content.S3Bucket.Fn::Sub": (ASSETS, ABSENT),
    f"{LIBRARY}.Content.S3Bucket": (ABSENT, "turnlog-local-assets"),
    f"{LIBRARY}.Content.S3Bucket.Fn::Sub": (ASSETS, ABSENT),
}

CLOUD_ONLY = (
    "Parameters.BootstrapVersion.",
    "Rules.CheckBootstrapVersion.",
    "Parameters.Issuer.",
    "Parameters.Audience.",
    "Outputs.ExportsOutputRefHttpApi",
    "Outputs.ExportsOutputRefSessionApiFunction",
    "Outputs.ExportsOutputRefCompaction",
    "Outputs.ExportsOutputFnGetAttCompaction",
)
"""Whole parts that only the cloud has: the check of the account's CDK bootstrap, the issuer, and what
the stack of alarms is told of the service."""


def _differences(cloud: Assembly, local: Assembly, stack: str) -> dict[str, tuple[object, object]]:
    left, right = (dict(leaves(blanked(one.template(stack), one.stage))) for one in (cloud, local))
    return {
        path: (left.get(path, ABSENT), right.get(path, ABSENT))
        for path in sorted(left.keys() | right.keys())
        if left.get(path, ABSENT) != right.get(path, ABSENT) and not path.startswith(CLOUD_ONLY)
    }


def test_the_stages_differ_in_storage_by_this_and_nothing_else(cloud: Assembly, local: Assembly) -> None:
    assert STORAGE == _differences(cloud, local, "Storage")


def test_the_stages_differ_in_service_by_this_and_nothing_else(cloud: Assembly, local: Assembly) -> None:
    assert SERVICE == _differences(cloud, local, "Service")


def test_only_the_cloud_is_watched_over(cloud: Assembly, local: Assembly) -> None:
    """A whole stack of alarms; all else is in both stages."""

    def stacks(assembly: Assembly) -> set[str]:
        return {path.name.split(".")[0].rpartition("-")[2] for path in assembly.folder.glob("*.template.json")}

    assert ({"Storage", "Service", "Monitoring"}, {"Storage", "Service"}) == (stacks(cloud), stacks(local))


def test_what_only_the_cloud_has_is_not_on_the_laptop_at_all(cloud: Assembly, local: Assembly) -> None:
    for part in ("Parameters", "Rules"):
        assert part in cloud.service
        assert part not in local.service
        assert part not in local.storage
