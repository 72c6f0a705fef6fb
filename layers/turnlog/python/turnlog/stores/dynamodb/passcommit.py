"""The two writes of a pass: its item, then the head (DESIGN 4, "Pass").

    item    Put !C#<inc>#<generation>#<pass id> IF attribute_not_exists(pk)
    head    Update IF it is of this life, alive, and still at the generation that was read
                won                  the pass counts
                refused              our own pass in its chain: the answer was lost. Else another was first

A crash between the two leaves an item that no chain leads to. The strict form puts the head into a
transaction with a check that the log's next slot is still free.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ...domain.errors import SessionNotFound, StoreUnavailable
from ...domain.instant import Instant
from . import keys
from .items import ATTEMPT_OPTIONAL, Head, attempt_attributes
from .lives import alive, not_expired
from .pacing import Pacing
from .passes import Pass, pass_item, read_chain
from .rim import (
    Absent,
    Check,
    Compare,
    ConditionFailed,
    Delete,
    Item,
    Put,
    Rim,
    TransactionFailed,
    Unavailable,
    Update,
    both,
)
from .view import Viewer

PUT_ATTEMPTS: Final = 4
COMMIT_ATTEMPTS: Final = 7


@dataclass(frozen=True)
class Prepared:
    """A pass, the head that was read, and the head that it leads to."""

    made: Pass
    before: Head
    after: Head

    @property
    def item(self) -> Item:
        """The pass as it is stored."""
        return pass_item(self.before, self.made)


class PassCommitter:
    """Writes passes of one tenant's sessions."""

    def __init__(self, *, rim: Rim, viewer: Viewer, pacing: Pacing) -> None:
        self._rim = rim
        self._viewer = viewer
        self._pacing = pacing

    def write(self, prepared: Prepared, *, slot: int | None = None, now: Instant | None = None) -> bool:
        """Write both; False when somebody else was first.

        Args:
            prepared: what to write.
            slot: the seq at which the log must still end (the strict form).
            now: the instant at which the session must not have expired; the port itself does not ask.

        Raises:
            SessionNotFound: the session has ended meanwhile.
            StoreUnavailable: it could not be committed in time.
        """
        self._put(prepared.item)
        landed = self._commit(prepared, slot, now)
        if not landed:
            self._tidy(prepared)
        return landed

    def _put(self, item: Item) -> None:
        """An item of that id which is there already is an earlier try's, and says the same."""
        for attempt in range(1, PUT_ATTEMPTS + 1):
            try:
                self._rim.put(Put(item, Absent()))
                return
            except ConditionFailed:
                return
            except Unavailable:
                if attempt == PUT_ATTEMPTS:
                    raise
                self._pacing.wait(attempt)

    def _commit(self, prepared: Prepared, slot: int | None, now: Instant | None) -> bool:
        head, after = prepared.before, prepared.after
        sets: Item = {"gen": after.generation, **after.archive_attributes(), **attempt_attributes(after.attempt)}
        gone = tuple(name for name in ATTEMPT_OPTIONAL if name not in sets)
        live = () if now is None else (not_expired(now),)
        condition = both(*alive(head.inc).parts, *live, Compare("gen", "=", head.generation))
        update = Update((head.pk, keys.HEAD), condition, sets, gone)
        check = None if slot is None else Check((head.pk, keys.commit_sk(head.inc, slot)), Absent())
        for attempt in range(1, COMMIT_ATTEMPTS + 1):
            try:
                self._write(update, check)
                return True
            except ConditionFailed:
                return self._is_ours(prepared, now)
            except TransactionFailed as failed:
                if failed.failed:
                    return self._is_ours(prepared, now)
            except Unavailable:
                if self._is_ours(prepared, now):
                    return True
            self._pacing.wait(attempt)
        raise StoreUnavailable("The pass could not be committed in time; try again.")

    def _write(self, update: Update, check: Check | None) -> None:
        if check is None:
            self._rim.update(update)
        else:
            self._rim.transact([update, check])

    def _is_ours(self, prepared: Prepared, now: Instant | None) -> bool:
        """Whether this very pass counts: then only the answer was lost. Another pass may stand on
        top of it by now, so that it has to be looked for in the chain.

        Raises:
            SessionNotFound: the session has ended meanwhile.
        """
        session_id, made = prepared.before.record.id, prepared.made
        head = self._viewer.look(session_id, consistent=True).live_head
        if head is None or head.inc != prepared.before.inc or (now is not None and head.record.expired(now)):
            raise SessionNotFound(session_id)
        if head.generation <= made.generation:
            return head.last_pass == made.id
        return made.id in read_chain(self._rim, head)

    def _tidy(self, prepared: Prepared) -> None:
        """Remove the item of a pass that has lost: its generation is taken, so it can never count."""
        item = prepared.item
        try:
            self._rim.delete(Delete((str(item["pk"]), str(item["sk"]))))
        except Unavailable:
            return  # it is invisible, and the sweep finds it
