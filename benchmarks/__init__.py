"""What wirebench costs itself: benchmarks, as ratios in one run, and never timed tests."""
