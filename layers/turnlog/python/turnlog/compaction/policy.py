"""The policy that a session stores: when to compact, and how (DESIGN 5, wire shapes).

The trigger is the high watermark and the strategy's parameter the low one: between two passes the
start of the window stays the same, byte for byte (DESIGN 7).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Self, TypeVar

from ..domain.errors import FieldError, InvalidRequest
from ..domain.exactjson import JsonValue
from .recursive_summarization import RecursiveSummarization
from .sliding_window import SlidingWindow
from .strategy import CompactionStrategy
from .token_count import TokenCount
from .triggers import AnyTrigger, CompactionTrigger, NeverTrigger, TokenCountTrigger, TurnCountTrigger
from .turn_window import TurnWindow

T = TypeVar("T")


@dataclass(frozen=True)
class CompactionPolicy:
    """A trigger and a strategy."""

    trigger: CompactionTrigger
    strategy: CompactionStrategy

    @classmethod
    def parse(cls, value: Mapping[str, JsonValue], *, pointer: str = "/compaction") -> Self:
        """From its JSON.

        Raises:
            InvalidRequest: a part is missing, unknown or out of range; the pointer says which.
        """
        _only(value, ("trigger", "strategy"), pointer)
        return cls(
            parse_trigger(value.get("trigger"), pointer=f"{pointer}/trigger"),
            parse_strategy(value.get("strategy"), pointer=f"{pointer}/strategy"),
        )


def parse_trigger(value: JsonValue, *, pointer: str = "/trigger") -> CompactionTrigger:
    """A trigger from its JSON; raises ``InvalidRequest``."""
    return _trigger(value, pointer)


def parse_strategy(value: JsonValue, *, pointer: str = "/strategy") -> CompactionStrategy:
    """A strategy from its JSON; raises ``InvalidRequest``."""
    return _make(value, _STRATEGIES, pointer)


def _trigger(value: JsonValue, at: str) -> CompactionTrigger:
    if not isinstance(value, Mapping) or value.get("type") != "any_of":
        return _make(value, _TRIGGERS, at)
    _only(value, ("type", "triggers"), at)
    parts = value.get("triggers")
    if not isinstance(parts, list):
        raise InvalidRequest.at(f"{at}/triggers", "must be a list of triggers")
    triggers = tuple(_trigger(part, f"{at}/triggers/{i}") for i, part in enumerate(parts))
    return _below(at, lambda: AnyTrigger(triggers))


_Kinds = Mapping[str, tuple[Callable[..., T], tuple[str, ...], tuple[str, ...]]]
"""What makes a kind: the class, the parameters that it must have, and those that it may have."""

_TRIGGERS: Final[_Kinds[CompactionTrigger]] = {
    "turn_count": (TurnCountTrigger, ("max_turns",), ()),
    "token_count": (TokenCountTrigger, ("threshold",), ()),
    "never": (NeverTrigger, (), ()),
}
_STRATEGIES: Final[_Kinds[CompactionStrategy]] = {
    "sliding_window": (SlidingWindow, ("max_events",), ()),
    "turn_window": (TurnWindow, ("max_turns",), ()),
    "token_count": (TokenCount, ("max_tokens",), ()),
    "recursive_summarization": (
        RecursiveSummarization,
        ("max_events_to_keep", "overlap_size", "model"),
        ("system_prompt", "shadow_prompt"),
    ),
}


def _make(value: JsonValue, kinds: _Kinds[T], at: str) -> T:
    if not isinstance(value, Mapping):
        raise InvalidRequest.at(at, "must be an object with a type")
    kind = value.get("type")
    if not isinstance(kind, str) or kind not in kinds:
        raise InvalidRequest.at(f"{at}/type", f"must be one of {', '.join(kinds)}")
    make, required, optional = kinds[kind]
    _only(value, ("type", *required, *optional), at)
    for name in required:
        if name not in value:
            raise InvalidRequest.at(f"{at}/{name}", "is required")
    parameters: dict[str, Any] = {name: value[name] for name in (*required, *optional) if name in value}
    return _below(at, lambda: make(**parameters))


def _only(value: Mapping[str, JsonValue], known: tuple[str, ...], at: str) -> None:
    for name in value:
        if name not in known:
            raise InvalidRequest.at(f"{at}/{name}", f"is not known here; known are {', '.join(known)}")


def _below(at: str, make: Callable[[], T]) -> T:
    """What ``make`` makes; what it refuses is pointed at from the root of the policy."""
    try:
        return make()
    except InvalidRequest as bad:
        errors = [FieldError(at + error.pointer, error.detail) for error in bad.errors]
        raise InvalidRequest("; ".join(f"{e.pointer}: {e.detail}" for e in errors), errors=errors) from None
