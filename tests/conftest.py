"""What holds for all tests."""

import os

from skdppca.privacy import charging

# No plan is read from the user's cache, and none is left there: constants are patched here.
os.environ["SKDPPCA_CACHE"] = ""

# The warning about unaccounted fits comes once a process. It has come already, or it would depend
# on the order of the tests which of them sees it.
charging._unaccounted = 2
