"""Algorithms of a block, called in kernels."""

from __future__ import annotations

from gridlane.algorithms.coop.block.exchange import BlockExchangeType as BlockExchangeType
from gridlane.algorithms.coop.block.exchange import make_exchange as make_exchange
from gridlane.algorithms.coop.block.histogram import make_histogram as make_histogram
from gridlane.algorithms.coop.block.load_store import make_load as make_load
from gridlane.algorithms.coop.block.load_store import make_store as make_store
from gridlane.algorithms.coop.block.merge_sort import make_merge_sort_keys as make_merge_sort_keys
from gridlane.algorithms.coop.block.merge_sort import make_merge_sort_pairs as make_merge_sort_pairs
from gridlane.algorithms.coop.block.neighbours import (
    BlockAdjacentDifferenceType as BlockAdjacentDifferenceType,
)
from gridlane.algorithms.coop.block.neighbours import (
    BlockDiscontinuityType as BlockDiscontinuityType,
)
from gridlane.algorithms.coop.block.neighbours import (
    make_adjacent_difference as make_adjacent_difference,
)
from gridlane.algorithms.coop.block.neighbours import make_discontinuity as make_discontinuity
from gridlane.algorithms.coop.block.radix_rank import make_radix_rank as make_radix_rank
from gridlane.algorithms.coop.block.radix_sort import make_radix_sort_keys as make_radix_sort_keys
from gridlane.algorithms.coop.block.radix_sort import (
    make_radix_sort_keys_descending as make_radix_sort_keys_descending,
)
from gridlane.algorithms.coop.block.radix_sort import make_radix_sort_pairs as make_radix_sort_pairs
from gridlane.algorithms.coop.block.radix_sort import (
    make_radix_sort_pairs_descending as make_radix_sort_pairs_descending,
)
from gridlane.algorithms.coop.block.reduce import make_reduce as make_reduce
from gridlane.algorithms.coop.block.reduce import make_sum as make_sum
from gridlane.algorithms.coop.block.run_length import make_run_length as make_run_length
from gridlane.algorithms.coop.block.scan import make_exclusive_scan as make_exclusive_scan
from gridlane.algorithms.coop.block.scan import make_exclusive_sum as make_exclusive_sum
from gridlane.algorithms.coop.block.scan import make_inclusive_scan as make_inclusive_scan
from gridlane.algorithms.coop.block.scan import make_inclusive_sum as make_inclusive_sum
from gridlane.algorithms.coop.block.scan import make_scan as make_scan
from gridlane.algorithms.coop.block.shuffle import BlockShuffleType as BlockShuffleType
from gridlane.algorithms.coop.block.shuffle import make_shuffle as make_shuffle
