"""The Kubernetes target: services and load as pods, by our chart, in a namespace that a run has to itself.

And what is deployed already, to be loaded as it is.
"""
