"""The types of gridlane.xp; made by scripts/xp_stub.py, not by hand."""

from typing import Any, Protocol

import numpy as np

from gridlane.xp import fft as fft
from gridlane.xp import linalg as linalg
from gridlane.xp import random as random
from gridlane.xp.arrays import Array as Array
from gridlane.xp.comparing import allclose as allclose
from gridlane.xp.comparing import array_equal as array_equal
from gridlane.xp.covariance import corrcoef as corrcoef
from gridlane.xp.covariance import cov as cov
from gridlane.xp.creation import arange as arange
from gridlane.xp.creation import array as array
from gridlane.xp.creation import asarray as asarray
from gridlane.xp.creation import empty as empty
from gridlane.xp.creation import empty_like as empty_like
from gridlane.xp.creation import eye as eye
from gridlane.xp.creation import from_dlpack as from_dlpack
from gridlane.xp.creation import full as full
from gridlane.xp.creation import full_like as full_like
from gridlane.xp.creation import linspace as linspace
from gridlane.xp.creation import meshgrid as meshgrid
from gridlane.xp.creation import ones as ones
from gridlane.xp.creation import ones_like as ones_like
from gridlane.xp.creation import tril as tril
from gridlane.xp.creation import triu as triu
from gridlane.xp.creation import zeros as zeros
from gridlane.xp.creation import zeros_like as zeros_like
from gridlane.xp.dtypes import can_cast as can_cast
from gridlane.xp.dtypes import finfo as finfo
from gridlane.xp.dtypes import iinfo as iinfo
from gridlane.xp.dtypes import isdtype as isdtype
from gridlane.xp.dtypes import result_type as result_type
from gridlane.xp.einstein import einsum as einsum
from gridlane.xp.explaining import explain as explain
from gridlane.xp.functions import clip as clip
from gridlane.xp.functions import round as round
from gridlane.xp.grids import indices as indices
from gridlane.xp.grids import mgrid as mgrid
from gridlane.xp.grids import ogrid as ogrid
from gridlane.xp.info import namespace_info
from gridlane.xp.manipulation import astype as astype
from gridlane.xp.manipulation import broadcast_arrays as broadcast_arrays
from gridlane.xp.manipulation import broadcast_shapes as broadcast_shapes
from gridlane.xp.manipulation import broadcast_to as broadcast_to
from gridlane.xp.manipulation import concat as concat
from gridlane.xp.manipulation import expand_dims as expand_dims
from gridlane.xp.manipulation import flip as flip
from gridlane.xp.manipulation import matrix_transpose as matrix_transpose
from gridlane.xp.manipulation import moveaxis as moveaxis
from gridlane.xp.manipulation import permute_dims as permute_dims
from gridlane.xp.manipulation import ravel as ravel
from gridlane.xp.manipulation import repeat as repeat
from gridlane.xp.manipulation import reshape as reshape
from gridlane.xp.manipulation import roll as roll
from gridlane.xp.manipulation import squeeze as squeeze
from gridlane.xp.manipulation import stack as stack
from gridlane.xp.manipulation import swapaxes as swapaxes
from gridlane.xp.manipulation import take as take
from gridlane.xp.manipulation import tile as tile
from gridlane.xp.manipulation import transpose as transpose
from gridlane.xp.manipulation import unstack as unstack
from gridlane.xp.numpy_names import append as append
from gridlane.xp.numpy_names import array_split as array_split
from gridlane.xp.numpy_names import atleast_1d as atleast_1d
from gridlane.xp.numpy_names import atleast_2d as atleast_2d
from gridlane.xp.numpy_names import column_stack as column_stack
from gridlane.xp.numpy_names import copy as copy
from gridlane.xp.numpy_names import copyto as copyto
from gridlane.xp.numpy_names import diag as diag
from gridlane.xp.numpy_names import diagonal as diagonal
from gridlane.xp.numpy_names import dot as dot
from gridlane.xp.numpy_names import fliplr as fliplr
from gridlane.xp.numpy_names import flipud as flipud
from gridlane.xp.numpy_names import hsplit as hsplit
from gridlane.xp.numpy_names import hstack as hstack
from gridlane.xp.numpy_names import identity as identity
from gridlane.xp.numpy_names import inner as inner
from gridlane.xp.numpy_names import isclose as isclose
from gridlane.xp.numpy_names import kron as kron
from gridlane.xp.numpy_names import logspace as logspace
from gridlane.xp.numpy_names import nan_to_num as nan_to_num
from gridlane.xp.numpy_names import ndim as ndim
from gridlane.xp.numpy_names import outer as outer
from gridlane.xp.numpy_names import pad as pad
from gridlane.xp.numpy_names import rot90 as rot90
from gridlane.xp.numpy_names import shape as shape
from gridlane.xp.numpy_names import size as size
from gridlane.xp.numpy_names import split as split
from gridlane.xp.numpy_names import trace as trace
from gridlane.xp.numpy_names import tri as tri
from gridlane.xp.numpy_names import vsplit as vsplit
from gridlane.xp.numpy_names import vstack as vstack
from gridlane.xp.over_axis import cosine_distance as cosine_distance
from gridlane.xp.over_axis import cosine_similarity as cosine_similarity
from gridlane.xp.over_axis import distance_chebyshev as distance_chebyshev
from gridlane.xp.over_axis import distance_euclidean as distance_euclidean
from gridlane.xp.over_axis import distance_manhattan as distance_manhattan
from gridlane.xp.over_axis import distance_minkowski as distance_minkowski
from gridlane.xp.over_axis import gumbel_softmax as gumbel_softmax
from gridlane.xp.over_axis import iqr as iqr
from gridlane.xp.over_axis import length as length
from gridlane.xp.over_axis import log_softmax as log_softmax
from gridlane.xp.over_axis import logsumexp as logsumexp
from gridlane.xp.over_axis import mad as mad
from gridlane.xp.over_axis import normalize_vector as normalize_vector
from gridlane.xp.over_axis import softmax as softmax
from gridlane.xp.over_axis import sparsemax as sparsemax
from gridlane.xp.over_axis import winsorize as winsorize
from gridlane.xp.products import matmul as matmul
from gridlane.xp.products import tensordot as tensordot
from gridlane.xp.products import vecdot as vecdot
from gridlane.xp.reductions.functions import all as all
from gridlane.xp.reductions.functions import any as any
from gridlane.xp.reductions.functions import argmax as argmax
from gridlane.xp.reductions.functions import argmin as argmin
from gridlane.xp.reductions.functions import count_nonzero as count_nonzero
from gridlane.xp.reductions.functions import max as max
from gridlane.xp.reductions.functions import min as min
from gridlane.xp.reductions.functions import prod as prod
from gridlane.xp.reductions.functions import sum as sum
from gridlane.xp.reductions.scans import cumprod as cumprod
from gridlane.xp.reductions.scans import cumsum as cumsum
from gridlane.xp.reductions.scans import cumulative_prod as cumulative_prod
from gridlane.xp.reductions.scans import cumulative_sum as cumulative_sum
from gridlane.xp.reductions.scans import diff as diff
from gridlane.xp.reductions.statistics import mean as mean
from gridlane.xp.reductions.statistics import std as std
from gridlane.xp.reductions.statistics import var as var
from gridlane.xp.reductions.without_nan import average as average
from gridlane.xp.reductions.without_nan import nanargmax as nanargmax
from gridlane.xp.reductions.without_nan import nanargmin as nanargmin
from gridlane.xp.reductions.without_nan import nancumprod as nancumprod
from gridlane.xp.reductions.without_nan import nancumsum as nancumsum
from gridlane.xp.reductions.without_nan import nanmax as nanmax
from gridlane.xp.reductions.without_nan import nanmean as nanmean
from gridlane.xp.reductions.without_nan import nanmin as nanmin
from gridlane.xp.reductions.without_nan import nanprod as nanprod
from gridlane.xp.reductions.without_nan import nanstd as nanstd
from gridlane.xp.reductions.without_nan import nansum as nansum
from gridlane.xp.reductions.without_nan import nanvar as nanvar
from gridlane.xp.reductions.without_nan import ptp as ptp
from gridlane.xp.sorting.counting import bincount as bincount
from gridlane.xp.sorting.counting import digitize as digitize
from gridlane.xp.sorting.counting import histogram as histogram
from gridlane.xp.sorting.quantiles import median as median
from gridlane.xp.sorting.quantiles import percentile as percentile
from gridlane.xp.sorting.quantiles import quantile as quantile
from gridlane.xp.sorting.searching import argwhere as argwhere
from gridlane.xp.sorting.searching import extract as extract
from gridlane.xp.sorting.searching import flatnonzero as flatnonzero
from gridlane.xp.sorting.searching import nonzero as nonzero
from gridlane.xp.sorting.searching import searchsorted as searchsorted
from gridlane.xp.sorting.searching import take_along_axis as take_along_axis
from gridlane.xp.sorting.sets import isin as isin
from gridlane.xp.sorting.sets import unique as unique
from gridlane.xp.sorting.sets import unique_all as unique_all
from gridlane.xp.sorting.sets import unique_counts as unique_counts
from gridlane.xp.sorting.sets import unique_inverse as unique_inverse
from gridlane.xp.sorting.sets import unique_values as unique_values
from gridlane.xp.sorting.sorts import argpartition as argpartition
from gridlane.xp.sorting.sorts import argsort as argsort
from gridlane.xp.sorting.sorts import partition as partition
from gridlane.xp.sorting.sorts import sort as sort
from gridlane.xp.sorting.sorts import top_k as top_k

class _Function0(Protocol):
    def __call__(
        self,
        a: Any,
        b: Any,
        c: Any,
        d: Any,
        /,
        *,
        out: Any = ...,
        where: Any = ...,
        dtype: Any = ...,
        casting: str = ...,
    ) -> Array: ...

class _Function1(Protocol):
    def __call__(
        self,
        a: Any,
        b: Any,
        c: Any,
        d: Any,
        e: Any,
        /,
        *,
        out: Any = ...,
        where: Any = ...,
        dtype: Any = ...,
        casting: str = ...,
    ) -> Array: ...

class _Function2(Protocol):
    def __call__(
        self,
        condition: Any,
        x1: Any,
        x2: Any,
        /,
        *,
        out: Any = ...,
        where: Any = ...,
        dtype: Any = ...,
        casting: str = ...,
    ) -> Array: ...

class _Function3(Protocol):
    def __call__(
        self,
        x: Any,
        /,
        *,
        out: Any = ...,
        where: Any = ...,
        dtype: Any = ...,
        casting: str = ...,
    ) -> Array: ...

class _Function4(Protocol):
    def __call__(
        self,
        x: Any,
        /,
        *,
        out: Any = ...,
        where: Any = ...,
        dtype: Any = ...,
        casting: str = ...,
    ) -> tuple[Array, Array]: ...

class _Function5(Protocol):
    def __call__(
        self,
        x1: Any,
        x2: Any,
        /,
        *,
        out: Any = ...,
        where: Any = ...,
        dtype: Any = ...,
        casting: str = ...,
    ) -> Array: ...

class _Function6(Protocol):
    def __call__(
        self,
        x1: Any,
        x2: Any,
        /,
        *,
        out: Any = ...,
        where: Any = ...,
        dtype: Any = ...,
        casting: str = ...,
    ) -> tuple[Array, Array]: ...

class _Function7(Protocol):
    def __call__(
        self,
        x1: Any,
        x2: Any,
        x3: Any,
        /,
        *,
        out: Any = ...,
        where: Any = ...,
        dtype: Any = ...,
        casting: str = ...,
    ) -> Array: ...

__array_namespace_info__ = namespace_info
__array_api_version__: str
e: float
inf: float
nan: float
newaxis: None
pi: float
bfloat16: np.dtype[Any]
bool: np.dtype[Any]
complex128: np.dtype[Any]
complex64: np.dtype[Any]
float16: np.dtype[Any]
float32: np.dtype[Any]
float64: np.dtype[Any]
int16: np.dtype[Any]
int32: np.dtype[Any]
int64: np.dtype[Any]
int8: np.dtype[Any]
uint16: np.dtype[Any]
uint32: np.dtype[Any]
uint64: np.dtype[Any]
uint8: np.dtype[Any]
abs: _Function3
absolute: _Function3
acos: _Function3
acosh: _Function3
acot: _Function3
acoth: _Function3
acsc: _Function3
acsch: _Function3
add: _Function5
angle: _Function3
arccos: _Function3
arccosh: _Function3
arcsin: _Function3
arcsinh: _Function3
arctan: _Function3
arctan2: _Function5
arctanh: _Function3
asec: _Function3
asech: _Function3
asin: _Function3
asinh: _Function3
atan: _Function3
atan2: _Function5
atanh: _Function3
bent_identity: _Function3
bezier_cubic: _Function1
bezier_quadratic: _Function0
binary_cross_entropy: _Function5
binary_step: _Function3
bipolar_step: _Function3
bitwise_and: _Function5
bitwise_count: _Function3
bitwise_invert: _Function3
bitwise_left_shift: _Function5
bitwise_not: _Function3
bitwise_or: _Function5
bitwise_right_shift: _Function5
bitwise_xor: _Function5
boxcox: _Function5
cbrt: _Function3
ceil: _Function3
celu: _Function5
clamp: _Function7
conj: _Function3
conjugate: _Function3
copysign: _Function5
cos: _Function3
cosh: _Function3
cospi: _Function3
cot: _Function3
coth: _Function3
cross_entropy: _Function5
csc: _Function3
csch: _Function3
cube: _Function3
deg2rad: _Function3
degrees: _Function3
denormalize: _Function7
divide: _Function5
divmod: _Function6
elu: _Function5
entr: _Function3
equal: _Function5
erf: _Function3
erfc: _Function3
exp: _Function3
exp2: _Function3
expit: _Function3
expm1: _Function3
exponential_cdf: _Function5
exponential_pdf: _Function5
fabs: _Function3
fdim: _Function5
float_power: _Function5
floor: _Function3
floor_divide: _Function5
fma: _Function7
fmax: _Function5
fmin: _Function5
fmod: _Function5
fract: _Function3
frexp: _Function4
gamma: _Function3
gamma_correct: _Function5
gammaln: _Function3
gaussian: _Function3
gcd: _Function5
gelu: _Function3
greater: _Function5
greater_equal: _Function5
gumbel_noise: _Function5
hard_sigmoid: _Function3
hard_tanh: _Function3
hash: _Function3
hash2: _Function5
heaviside: _Function5
hinge_loss: _Function5
huber_loss: _Function7
hypot: _Function5
imag: _Function3
inv_boxcox: _Function5
inverse_gamma: _Function5
inverse_smoothstep: _Function3
invert: _Function3
isfinite: _Function3
isinf: _Function3
isnan: _Function3
kl_div: _Function5
kl_divergence: _Function5
l1_loss: _Function5
l2_loss: _Function5
lcm: _Function5
ldexp: _Function5
leaky_relu: _Function5
left_shift: _Function5
lerp: _Function7
less: _Function5
less_equal: _Function5
lgamma: _Function3
linear: _Function3
linear_to_srgb: _Function3
log: _Function3
log10: _Function3
log1p: _Function3
log2: _Function3
log_cosh: _Function5
logaddexp: _Function5
logaddexp2: _Function5
logical_and: _Function5
logical_not: _Function3
logical_or: _Function5
logical_xor: _Function5
logit: _Function3
map_range: _Function1
maximum: _Function5
minimum: _Function5
mish: _Function3
mix: _Function7
mod: _Function5
modf: _Function4
modular_add: _Function7
modular_multiply: _Function7
modular_power: _Function7
modular_subtract: _Function7
multiply: _Function5
negative: _Function3
nextafter: _Function5
noise_white: _Function3
normal_pdf: _Function7
normalize: _Function7
not_equal: _Function5
ping_pong: _Function5
poisson_loss: _Function5
positive: _Function3
pow: _Function5
power: _Function5
prelu: _Function5
quantile_loss: _Function7
quartic: _Function3
quintic: _Function3
rad2deg: _Function3
radians: _Function3
real: _Function3
reciprocal: _Function3
rel_entr: _Function5
relu: _Function3
remainder: _Function5
right_shift: _Function5
rint: _Function3
rrelu: _Function5
rsqrt: _Function3
saturate: _Function3
sec: _Function3
sech: _Function3
selu: _Function3
sigmoid: _Function3
sign: _Function3
signbit: _Function3
silu: _Function3
sin: _Function3
sinc: _Function3
sinh: _Function3
sinpi: _Function3
smooth_l1: _Function5
smootherstep: _Function7
smoothstep: _Function7
softclip: _Function5
softplus: _Function3
softsign: _Function3
spacing: _Function3
sqrt: _Function3
square: _Function3
squared_hinge: _Function5
srgb_to_linear: _Function3
standardize: _Function7
step: _Function5
subtract: _Function5
swish: _Function3
tan: _Function3
tanh: _Function3
tanpi: _Function3
tgamma: _Function3
true_divide: _Function5
trunc: _Function3
tukey_transform: _Function5
uniform_cdf: _Function7
uniform_pdf: _Function7
unstandardize: _Function7
where: _Function2
wrap: _Function7
xlog1py: _Function5
xlogy: _Function5
z_score_robust: _Function7
