"""Which policy a session has, and whether an append makes its trigger fire."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from ..compaction.policy import CompactionPolicy
from ..compaction.triggers import Watermark
from ..domain.due import DueView
from ..domain.errors import InvalidRequest
from ..domain.exactjson import JsonObject
from ..domain.ports import Clock
from ..domain.session import Session
from .attempts import holds_back


@dataclass(frozen=True)
class Policies:
    """The stage's default policy under each session's own."""

    clock: Clock
    default: JsonObject | None = None

    def text_of(self, own: JsonObject | None) -> JsonObject | None:
        """The policy that holds, as it is written."""
        return self.default if own is None else own

    def of(self, session: Session) -> CompactionPolicy | None:
        """The policy that holds.

        Raises:
            InvalidRequest: it cannot be read; the port takes any JSON as a policy.
        """
        text = self.text_of(session.compaction)
        return None if text is None else _parsed(text.raw)

    def is_due(self, view: DueView) -> bool:
        """Whether the window that an append leaves asks for a pass: when the trigger begins to fire,
        and again with each new turn while it does (DESIGN 4, "Triggers without reading"). Not while
        a model is asked, nor before an earlier try's time."""
        text = self.text_of(view.policy)
        if text is None:
            return False
        try:
            trigger = _parsed(text.raw).trigger
        except InvalidRequest:
            return False  # whoever compacts says so; an append goes on
        if not isinstance(trigger, Watermark) or not trigger.fires_at(view.after):
            return False
        if holds_back(view.attempt, trigger, view.after, self.clock.now()):
            return False
        return view.after.turns > view.before.turns or not trigger.fires_at(view.before)


@lru_cache(maxsize=256)
def _parsed(raw: str) -> CompactionPolicy:
    return CompactionPolicy.parse(JsonObject(raw))
