"""From stream records to sessions, and from sessions to what their policies ask for.

A batch is answered record by record: those of a session that could not be looked at are named as
failed, and the others are not held up by them. Lambda delivers everything from the first failed
record on again (Lambda developer guide, "Partial batch responses for DynamoDB streams"), which
costs a look: a session that has been compacted has nothing to do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from turnlog.stores.dynamodb.pending import SessionPlace

from . import observability
from .dependencies import Dependencies

Json = dict[str, Any]

SWEEP: Final = {"turnlog": "sweep"}
"""The event of the schedule: look at sessions whose attempt's time has come."""

MAX_SWEPT: Final = 200
"""Sessions that one sweep looks at; the next one goes on, oldest first."""

LEAST_REMAINING_MS: Final = 15_000
"""A sweep does not begin with another session when less of its time is left."""


class UnknownEvent(ValueError):
    """Neither records of a stream nor the schedule's event."""


class Worker:
    """The Lambda handler over ``dependencies``."""

    def __init__(self, dependencies: Callable[[], Dependencies]) -> None:
        self._dependencies = dependencies

    def __call__(self, event: Json, context: Any) -> Json:
        """A batch of the stream, or a sweep.

        Raises:
            UnknownEvent: it is neither.
        """
        observability.logger.set_correlation_id(getattr(context, "aws_request_id", None))
        if isinstance(event, dict) and isinstance(event.get("Records"), list):
            return {"batchItemFailures": [{"itemIdentifier": number} for number in self._batch(event["Records"])]}
        if event == SWEEP:
            return {"swept": self._sweep(context)}
        raise UnknownEvent("neither records of a stream nor the schedule's event")

    def _batch(self, records: Sequence[Json]) -> list[str]:
        """The sequence numbers of the records that have to come again, in order."""
        places: dict[SessionPlace, list[str]] = {}
        failed: set[str] = set()
        numbers: list[str] = []
        for record in records:
            number = _sequence_number(record)
            numbers.append(number)
            try:
                place = self._place(record)
            except Exception as error:  # noqa: BLE001  (one record must not stop the others, whatever is wrong with it)
                observability.unreadable(error, number)
                failed.add(number)
                continue
            if place is not None:
                places.setdefault(place, []).append(number)
        for place, of_place in places.items():
            if not self._look(place):
                failed.update(of_place)
        return [number for number in numbers if number in failed]

    def _place(self, record: Mapping[str, Any]) -> SessionPlace | None:
        """The session of a record; None when it is gone and its key holds a hash only.

        Raises:
            UnknownEvent: the record is none of this table's sessions.
        """
        pk = record["dynamodb"]["Keys"]["pk"]["S"]
        if not isinstance(pk, str) or "#S#" not in pk:
            raise UnknownEvent("a record of no session")
        return self._dependencies().connection.place_of(pk)

    def _sweep(self, context: Any) -> int:
        """Look at sessions whose attempt's time has come; how many were looked at."""
        needs = self._dependencies()
        looked = 0
        for place in needs.connection.pending(needs.clock.now(), limit=MAX_SWEPT):
            if context.get_remaining_time_in_millis() < LEAST_REMAINING_MS:
                break
            self._look(place)
            looked += 1
        observability.count("CompactionsSwept", looked)
        return looked

    def _look(self, place: SessionPlace) -> bool:
        """Carry out a session's policy; False when it could not be done."""
        try:
            answer = self._dependencies().compactor_for(place.tenant).run_due(place.session_id)
        except Exception as error:  # noqa: BLE001  (the batch goes on; the record comes again, and then to the queue)
            observability.failed(error, place.tenant, place.session_id)
            return False
        observability.looked_at(place.tenant, place.session_id, answer)
        return True


def _sequence_number(record: Json) -> str:
    """What names a record. Without one nothing can be said about it alone, so the whole batch fails."""
    number = record["dynamodb"]["SequenceNumber"]
    if not isinstance(number, str) or not number:
        raise UnknownEvent("a record without a sequence number")
    return number
