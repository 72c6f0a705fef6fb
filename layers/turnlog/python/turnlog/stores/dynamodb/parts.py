"""Parts of summaries in the making: S3 objects that a lifecycle rule removes after a day."""

from __future__ import annotations

from ...compactor.jobs import PartRef, SummaryJob
from . import keys
from .blobs import BlobStore
from .items import Blob


class S3PartStore:
    """One tenant's parts. See :class:`turnlog.compactor.jobs.PartStore`."""

    def __init__(self, tenant: str, blobs: BlobStore) -> None:
        self._tenant = tenant
        self._blobs = blobs

    def put(self, job: SummaryJob, name: str, text: str) -> PartRef:
        """One PutObject request."""
        key = keys.part_key(self._tenant, job.session_id, job.inc, job.pass_id, name)
        blob = self._blobs.put(key, text.encode("utf-8", "surrogatepass"))
        return PartRef(blob.key, blob.hash.hex(), blob.size)

    def get(self, ref: PartRef) -> str:
        """One GetObject request."""
        blob = Blob(ref.key, bytes.fromhex(ref.sha256), ref.size)
        return self._blobs.get(blob).decode("utf-8", "surrogatepass")
