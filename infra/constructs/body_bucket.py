"""The bucket for bodies that are too large for an item."""

from __future__ import annotations

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct


class BodyBucket(Construct):
    """Private, encrypted, versioned, TLS only.

    Versions let a restored table find the bodies of its point in time; after ``noncurrent_days``
    an overwritten or deleted body is gone for good.
    """

    PREFIX = "t/"
    """The keys of bodies and uploads start with it; the tenant follows."""

    LINKS_PREFIX = "l/"
    """The keys of the copies that event links lead to; each is of use for minutes."""

    def __init__(
        self, scope: Construct, construct_id: str, *, keeps_data: bool, noncurrent_days: int, key: kms.IKey | None
    ) -> None:
        super().__init__(scope, construct_id)
        self.bucket = s3.Bucket(
            self,
            "Bucket",
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            encryption=s3.BucketEncryption.S3_MANAGED if key is None else s3.BucketEncryption.KMS,
            encryption_key=key,
            bucket_key_enabled=None if key is None else True,
            enforce_ssl=True,
            minimum_tls_version=1.2,
            versioned=True,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            lifecycle_rules=[
                s3.LifecycleRule(
                    id="forget-what-was-deleted",
                    noncurrent_version_expiration=Duration.days(noncurrent_days),
                    expired_object_delete_marker=True,
                ),
                s3.LifecycleRule(
                    id="forget-copies-that-links-led-to",
                    prefix=self.LINKS_PREFIX,
                    expiration=Duration.days(1),
                    noncurrent_version_expiration=Duration.days(1),
                ),
                s3.LifecycleRule(
                    id="forget-what-was-never-finished", abort_incomplete_multipart_upload_after=Duration.days(1)
                ),
            ],
            removal_policy=RemovalPolicy.RETAIN if keeps_data else RemovalPolicy.DESTROY,
        )

    @property
    def bodies_arn(self) -> str:
        """The ARN of every body and upload, for grants."""
        return self.bucket.arn_for_objects(f"{self.PREFIX}*")

    @property
    def links_arn(self) -> str:
        """The ARN of every copy that an event link leads to, for grants."""
        return self.bucket.arn_for_objects(f"{self.LINKS_PREFIX}*")
