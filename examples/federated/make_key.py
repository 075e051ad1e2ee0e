"""Make the analyst's key, and print its public half: python make_key.py FILE."""

import sys

from skdppca.federated import Identity

if __name__ == "__main__":
    print(Identity.create(sys.argv[1]).public)
