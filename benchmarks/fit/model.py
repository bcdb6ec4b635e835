"""The model: a sum of shallow trees in which a few texts cannot decide; scored on families that it has not seen.

The same texts make the same trees to the last digit: one thread, no rows set aside by chance, every order given.
"""

from __future__ import annotations

import hashlib
from math import log2
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from rules.detect.monitors.novelty.monitor import BLANKS, JOINTS, LETTERS, NUMERIC, SIGNS
from rules.detect.monitors.novelty.params import NoveltyParams
from rules.detect.monitors.novelty.reading import VIEW
from rules.detect.odds import NAMES

from .rows import Data

FOLDS = 6


def model(trees: int, depth: int) -> HistGradientBoostingClassifier:
    """The kind of model that is fitted: large leaves and a strong prior."""
    return HistGradientBoostingClassifier(
        max_depth=depth,
        max_iter=trees,
        learning_rate=0.2,
        min_samples_leaf=120,
        l2_regularization=50.0,
        max_bins=64,
        early_stopping=False,  # it would set a tenth of the rows aside
        random_state=1,
    )


def weights(data: Data, use: np.ndarray) -> np.ndarray:
    """A long text counts more than a short one, but not in proportion; both sides count alike."""
    count = np.bincount(data.of[use], minlength=len(data.texts))
    weight = 1.0 / np.sqrt(np.maximum(1, count[data.of]))
    loops = data.y == 1
    weight[~loops] *= weight[use & loops].sum() / weight[use & ~loops].sum()
    return weight


def fitted(data: Data, use: np.ndarray, trees: int, depth: int) -> HistGradientBoostingClassifier:
    """A model that has seen the rows of `use` which have an outcome."""
    use = use & (data.y >= 0)
    return model(trees, depth).fit(data.x[use], data.y[use], sample_weight=weights(data, use)[use])


def left_out(data: Data, trees: int, depth: int) -> np.ndarray:
    """Each row's score by a fit that saw nothing of its text's family."""
    order = sorted({text.family for text in data.texts}, key=lambda one: hashlib.blake2b(one.encode()).digest())
    fold = {one: at % FOLDS for at, one in enumerate(order)}
    of = np.array([fold[text.family] for text in data.texts])[data.of]
    score = np.zeros(len(data.y))
    for at in range(FOLDS):
        if not (of == at).any():
            continue
        score[of == at] = fitted(data, of != at, trees, depth).decision_function(data.x[of == at])
    return score


def left_out_collections(data: Data, family: np.ndarray, trees: int, depth: int) -> np.ndarray:
    """Each row's score by a fit that saw nothing of its text's collection and, of its loops, only other families': a
    file by a fit without files, an answer by a fit on all files and the answers of other families (`family`, what
    `left_out` gave)."""
    score = family.copy()
    source = np.array([text.source for text in data.texts])[data.of]
    for name in dict.fromkeys(source):
        if any(text.label == "loop" for text in data.texts if text.source == name):
            continue  # without its loops there is nothing to fit
        rest = source != name
        score[~rest] = fitted(data, rest, trees, depth).decision_function(data.x[~rest])
    return score


def spared(data: Data, score: np.ndarray, few: bool = True) -> np.ndarray:
    """The score as the engine takes it: rows of code and data and those in which numbers count have none, nor (without
    `few`) those of few words or letters or many blanks; what is asked for needs a higher one."""

    def share(name: str) -> np.ndarray:
        return data.x[:, NAMES.index(name)]

    away = data.counts | (share("signs") >= SIGNS) | (share("code") >= JOINTS) | (share("digits") >= NUMERIC)
    if not few:
        away |= (share("poor") >= log2(1 + VIEW)) | (share("letters") < LETTERS) | (share("spaces") >= BLANKS)
    soft = np.array([text.soft for text in data.texts])[data.of]
    return np.where(away, -np.inf, score) - NoveltyParams().asked * soft


def plain(made: HistGradientBoostingClassifier) -> tuple[list[Any], float]:
    """(the trees as nested lists of [measure, limit, not above it, above it], the base score)"""

    def node(nodes: Any, at: int) -> Any:
        one = nodes[at]
        if one["is_leaf"]:
            return round(float(one["value"]), 4)
        name = NAMES[int(one["feature_idx"])]
        limit = round(float(one["num_threshold"]), 4)
        return [name, limit, node(nodes, int(one["left"])), node(nodes, int(one["right"]))]

    trees = [node(stage[0].nodes, 0) for stage in made._predictors]
    return trees, round(float(np.ravel(made._baseline_prediction)[0]), 4)
