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
from gridlane.xp.functions import angle as angle
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
from gridlane.xp.neighbours import convolve as convolve
from gridlane.xp.neighbours import gradient as gradient
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
from gridlane.xp.sorting.searching import where as where
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
        x: Any,
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
    ) -> tuple[Array, Array]: ...

class _Function4(Protocol):
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
    ) -> tuple[Array, Array]: ...

class _Function6(Protocol):
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

around = round
__array_namespace_info__ = namespace_info
concatenate = concat
amax = max
amin = min
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
abs: _Function2
absolute: _Function2
acos: _Function2
acosh: _Function2
acot: _Function2
acoth: _Function2
acsc: _Function2
acsch: _Function2
add: _Function4
arccos: _Function2
arccosh: _Function2
arcsin: _Function2
arcsinh: _Function2
arctan: _Function2
arctan2: _Function4
arctanh: _Function2
asec: _Function2
asech: _Function2
asin: _Function2
asinh: _Function2
atan: _Function2
atan2: _Function4
atanh: _Function2
bent_identity: _Function2
bezier_cubic: _Function1
bezier_quadratic: _Function0
binary_cross_entropy: _Function4
binary_step: _Function2
bipolar_step: _Function2
bitwise_and: _Function4
bitwise_count: _Function2
bitwise_invert: _Function2
bitwise_left_shift: _Function4
bitwise_not: _Function2
bitwise_or: _Function4
bitwise_right_shift: _Function4
bitwise_xor: _Function4
boxcox: _Function4
cbrt: _Function2
ceil: _Function2
celu: _Function4
clamp: _Function6
conj: _Function2
conjugate: _Function2
copysign: _Function4
cos: _Function2
cosh: _Function2
cospi: _Function2
cot: _Function2
coth: _Function2
cross_entropy: _Function4
csc: _Function2
csch: _Function2
cube: _Function2
deg2rad: _Function2
degrees: _Function2
denormalize: _Function6
divide: _Function4
divmod: _Function5
elu: _Function4
entr: _Function2
equal: _Function4
erf: _Function2
erfc: _Function2
exp: _Function2
exp2: _Function2
expit: _Function2
expm1: _Function2
exponential_cdf: _Function4
exponential_pdf: _Function4
fabs: _Function2
fdim: _Function4
float_power: _Function4
floor: _Function2
floor_divide: _Function4
fma: _Function6
fmax: _Function4
fmin: _Function4
fmod: _Function4
fract: _Function2
frexp: _Function3
gamma: _Function2
gamma_correct: _Function4
gammaln: _Function2
gaussian: _Function2
gcd: _Function4
gelu: _Function2
greater: _Function4
greater_equal: _Function4
gumbel_noise: _Function4
hard_sigmoid: _Function2
hard_tanh: _Function2
hash: _Function2
hash2: _Function4
heaviside: _Function4
hinge_loss: _Function4
huber_loss: _Function6
hypot: _Function4
imag: _Function2
inv_boxcox: _Function4
inverse_gamma: _Function4
inverse_smoothstep: _Function2
invert: _Function2
isfinite: _Function2
isinf: _Function2
isnan: _Function2
kl_div: _Function4
kl_divergence: _Function4
l1_loss: _Function4
l2_loss: _Function4
lcm: _Function4
ldexp: _Function4
leaky_relu: _Function4
left_shift: _Function4
lerp: _Function6
less: _Function4
less_equal: _Function4
lgamma: _Function2
linear: _Function2
linear_to_srgb: _Function2
log: _Function2
log10: _Function2
log1p: _Function2
log2: _Function2
log_cosh: _Function4
logaddexp: _Function4
logaddexp2: _Function4
logical_and: _Function4
logical_not: _Function2
logical_or: _Function4
logical_xor: _Function4
logit: _Function2
map_range: _Function1
maximum: _Function4
minimum: _Function4
mish: _Function2
mix: _Function6
mod: _Function4
modf: _Function3
modular_add: _Function6
modular_multiply: _Function6
modular_power: _Function6
modular_subtract: _Function6
multiply: _Function4
negative: _Function2
nextafter: _Function4
noise_white: _Function2
normal_pdf: _Function6
normalize: _Function6
not_equal: _Function4
ping_pong: _Function4
poisson_loss: _Function4
positive: _Function2
pow: _Function4
power: _Function4
prelu: _Function4
quantile_loss: _Function6
quartic: _Function2
quintic: _Function2
rad2deg: _Function2
radians: _Function2
real: _Function2
reciprocal: _Function2
rel_entr: _Function4
relu: _Function2
remainder: _Function4
right_shift: _Function4
rint: _Function2
rrelu: _Function4
rsqrt: _Function2
saturate: _Function2
sec: _Function2
sech: _Function2
selu: _Function2
sigmoid: _Function2
sign: _Function2
signbit: _Function2
silu: _Function2
sin: _Function2
sinc: _Function2
sinh: _Function2
sinpi: _Function2
smooth_l1: _Function4
smootherstep: _Function6
smoothstep: _Function6
softclip: _Function4
softplus: _Function2
softsign: _Function2
spacing: _Function2
sqrt: _Function2
square: _Function2
squared_hinge: _Function4
srgb_to_linear: _Function2
standardize: _Function6
step: _Function4
subtract: _Function4
swish: _Function2
tan: _Function2
tanh: _Function2
tanpi: _Function2
tgamma: _Function2
true_divide: _Function4
trunc: _Function2
tukey_transform: _Function4
uniform_cdf: _Function6
uniform_pdf: _Function6
unstandardize: _Function6
wrap: _Function6
xlog1py: _Function4
xlogy: _Function4
z_score_robust: _Function6
