"""Nested spheres for a budget: what they cost, the first of them, and the others."""

from skdppca.mechanisms.nested_spheres import SPHERE, nested_spheres, sphere_costs
from skdppca.mechanisms.noisy_covariance import release_gram


def nested(data, n_components, mu, radius=None, start=None):
    costs = sphere_costs(data, n_components, mu, radius, start)
    return nested_spheres(data, costs, start or release_gram(data, SPHERE, costs[1]), radius)
