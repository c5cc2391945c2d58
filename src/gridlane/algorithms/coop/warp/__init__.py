"""Algorithms of a warp, called in kernels."""

from __future__ import annotations

from gridlane.algorithms.coop.warp.exchange import WarpExchangeType as WarpExchangeType
from gridlane.algorithms.coop.warp.exchange import make_exchange as make_exchange
from gridlane.algorithms.coop.warp.load_store import make_load as make_load
from gridlane.algorithms.coop.warp.load_store import make_store as make_store
from gridlane.algorithms.coop.warp.merge_sort import make_merge_sort_keys as make_merge_sort_keys
from gridlane.algorithms.coop.warp.merge_sort import make_merge_sort_pairs as make_merge_sort_pairs
from gridlane.algorithms.coop.warp.reduce import make_max as make_max
from gridlane.algorithms.coop.warp.reduce import make_min as make_min
from gridlane.algorithms.coop.warp.reduce import make_reduce as make_reduce
from gridlane.algorithms.coop.warp.reduce import make_sum as make_sum
from gridlane.algorithms.coop.warp.scan import make_exclusive_scan as make_exclusive_scan
from gridlane.algorithms.coop.warp.scan import make_exclusive_sum as make_exclusive_sum
from gridlane.algorithms.coop.warp.scan import make_inclusive_scan as make_inclusive_scan
from gridlane.algorithms.coop.warp.scan import make_inclusive_sum as make_inclusive_sum
