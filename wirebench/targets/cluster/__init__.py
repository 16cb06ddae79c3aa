"""What a run uses of a cluster: kubectl and helm, nodes, namespaces, pods, agents, releases and load pods."""
