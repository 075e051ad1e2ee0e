"""Private scales of all features, in the order in which data flow.

1. `octaves`: where values lie and how far they spread, read off noisy histograms.
2. `zoom`: closer looks at features far from 0.
3. `private_scales`: steps 1 and 2 and mean squares about what was found, within one budget; and a
   method on features that were divided by the scales.
"""
