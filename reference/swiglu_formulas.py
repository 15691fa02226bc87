"""swiglu_formulas.py - the activations of lab 01 and their derivatives, in float64."""

import numpy as np

K, CUBE = np.sqrt(2 / np.pi), 0.044715


def sigmoid(z):
    e = np.exp(-np.abs(z))  # never overflows
    return np.where(z < 0, e, 1) / (1 + e)


def silu(z):
    return z * sigmoid(z)


def silu_slope(z):
    s = sigmoid(z)
    return s * (1 + z * (1 - s))


def gelu(z):  # 1 + tanh(u) = 2 sigmoid(2u), without the cancellation
    return z * sigmoid(2 * K * (z + CUBE * z**3))


def gelu_slope(z):
    s = sigmoid(2 * K * (z + CUBE * z**3))
    return s + 2 * z * s * (1 - s) * K * (1 + 3 * CUBE * z**2)
