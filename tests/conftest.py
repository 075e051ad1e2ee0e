"""What holds for all tests."""

from skdppca.privacy import charging

# The warning about unaccounted fits comes once a process. It has come already, or it would depend
# on the order of the tests which of them sees it.
charging._unaccounted = 2
