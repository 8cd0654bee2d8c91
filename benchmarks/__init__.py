"""What `make bench` measures: ratios within one run, against a named rival or a floor."""
