# Versions of the tools that are not locked elsewhere: k6 is in k6/extension/go.mod, all Python is in requirements/
# (and with it buf, which comes as a wheel).
GHZ_VERSION := v0.93.0
UV_VERSION := 0.13.8
