"""The stream pump: reads the table's stream and invokes functions, by the settings of the deployed mappings.

The engine's own mappings lose records that fail (docs/local.md). On the laptop mappings are therefore deployed
disabled, and the pump does what Lambda does with them in the cloud: filters, batches, lanes by partition key, partial
failures, bisection, retries, age, and the queue for what is given up.
"""

from infra.local.pump.filters import Pattern, PatternError
from infra.local.pump.lane import Invoked, Lane
from infra.local.pump.mapping import Mapping, MappingError
from infra.local.pump.pump import Counters, Pump, PumpError

__all__ = [
    "Counters",
    "Invoked",
    "Lane",
    "Mapping",
    "MappingError",
    "Pattern",
    "PatternError",
    "Pump",
    "PumpError",
]
