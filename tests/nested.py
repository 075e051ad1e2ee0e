"""Nested spheres for a budget: what they cost, the first of them, and the others."""

from skdppca.mechanisms.nested_spheres import first_sphere, nested_spheres, sphere_costs


def nested(data, n_components, mu, radius=None, start=None):
    costs = sphere_costs(data, n_components, mu, radius, start)
    return nested_spheres(data, costs, start or first_sphere(data, costs), radius)
