"""The suites that any session repository and any upload store must pass, written once.

A store is finished when it inherits it::

    class TestMyStore(SessionRepositoryContract):
        @pytest.fixture
        def make(self):
            database = ...  # empty, or shared as long as tenants are new
            return lambda tenant: MyRepository(database, tenant)

and, if it may be called from several threads, ``ConcurrentContract`` as well. Add
``pytest.register_assert_rewrite("turnlog.testing.contract")`` to your ``conftest.py`` to see the
values of a failed assertion.
"""

from .attempts import AttemptContract
from .base import Make
from .compaction import CompactionContract
from .content import ContentContract
from .isolation import IsolationContract
from .log import LogContract
from .passes import PassContract
from .races import ConcurrentContract
from .reads import ReadContract
from .replays import ReplayContract
from .sessions import SessionContract
from .uploads import MakeUploads, Send, UploadStoreContract


class SessionRepositoryContract(
    SessionContract,
    LogContract,
    ReplayContract,
    ContentContract,
    ReadContract,
    CompactionContract,
    PassContract,
    AttemptContract,
    IsolationContract,
):
    """Everything that spec/session 1, 3 and 4 and DESIGN 4 say and that shows at the port."""


__all__ = [
    "ConcurrentContract",
    "Make",
    "MakeUploads",
    "Send",
    "SessionRepositoryContract",
    "UploadStoreContract",
]
