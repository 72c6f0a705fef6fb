"""The bucket for bodies that are too large for an item."""

from __future__ import annotations

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_s3 as s3
from constructs import Construct


class BodyBucket(Construct):
    """Private, encrypted, versioned, TLS only.

    Versions let a restored table find the bodies of its point in time; after ``noncurrent_days``
    an overwritten or deleted body is gone for good.
    """

    PREFIX = "t/"
    """Every object's key starts with it; the tenant follows."""

    def __init__(self, scope: Construct, construct_id: str, *, keeps_data: bool, noncurrent_days: int) -> None:
        super().__init__(scope, construct_id)
        self.bucket = s3.Bucket(
            self,
            "Bucket",
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            encryption=s3.BucketEncryption.S3_MANAGED,
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
                    id="forget-what-was-never-finished", abort_incomplete_multipart_upload_after=Duration.days(1)
                ),
            ],
            removal_policy=RemovalPolicy.RETAIN if keeps_data else RemovalPolicy.DESTROY,
        )

    @property
    def bodies_arn(self) -> str:
        """The ARN of every body, for grants."""
        return self.bucket.arn_for_objects(f"{self.PREFIX}*")
