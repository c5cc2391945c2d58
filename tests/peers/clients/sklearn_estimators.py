"""Estimators of scikit-learn with ``array_api_dispatch`` on arrays of gridlane.xp, beside NumPy's.

``xp_suites`` runs it in an environment that has scikit-learn, with ``SCIPY_ARRAY_API``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn import config_context
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import Ridge
from sklearn.metrics import accuracy_score, mean_squared_error, r2_score
from sklearn.mixture import GaussianMixture
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, Normalizer, StandardScaler

from gridlane import xp

X = np.random.default_rng(0).normal(size=(60, 5))
LABELS = (X[:, 0] + X[:, 1] > 0).astype(int)
TARGET = X @ np.arange(5.0) + 1
Results = Callable[[Any, Any, Any], tuple[Any, ...]]


def _mixture(x: Any, labels: Any, target: Any) -> tuple[Any, ...]:
    model = GaussianMixture(2, init_params="random", random_state=0).fit(x)
    return model.means_, model.predict(x)


def _components(x: Any, labels: Any, target: Any) -> tuple[Any, ...]:
    way = {"svd_solver": "randomized", "power_iteration_normalizer": "QR", "random_state": 0}
    return (PCA(3, **way).fit(x).explained_variance_,)


def _ridge(x: Any, labels: Any, target: Any) -> tuple[Any, ...]:
    model = Ridge(solver="svd").fit(x, target)
    return model.coef_, model.predict(x)


def _discriminant(x: Any, labels: Any, target: Any) -> tuple[Any, ...]:
    model = LinearDiscriminantAnalysis(solver="svd").fit(x, labels)
    return model.predict(x), model.transform(x)


def _metrics(x: Any, labels: Any, target: Any) -> tuple[Any, ...]:
    other = target * 1.1
    scores = r2_score(target, other), mean_squared_error(target, other)
    return *scores, accuracy_score(labels, 1 - labels)


CASES: dict[str, Results] = {
    **{
        scaler.__name__: lambda x, labels, target, scaler=scaler: (scaler().fit_transform(x),)
        for scaler in (StandardScaler, MinMaxScaler, MaxAbsScaler, Normalizer)
    },
    "PCA": lambda x, labels, target: (PCA(3, svd_solver="full").fit_transform(x),),
    "PCA, randomized": _components,
    "Ridge": _ridge,
    "LinearDiscriminantAnalysis": _discriminant,
    "GaussianMixture": _mixture,
    "metrics": _metrics,
}


@pytest.mark.parametrize("name", CASES)
def test_estimator(name: str) -> None:
    wanted = CASES[name](X, LABELS, TARGET)
    with config_context(array_api_dispatch=True):
        found = CASES[name](*map(xp.asarray, (X, LABELS, TARGET)))
    for mine, right in zip(found, wanted, strict=True):
        assert np.isscalar(mine) or isinstance(mine, xp.Array)
        # Vectors of a decomposition may have either sign.
        np.testing.assert_allclose(np.abs(np.asarray(mine)), np.abs(right), rtol=1e-5, atol=1e-8)
