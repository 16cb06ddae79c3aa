# The images of Kubernetes' own pods, which scripts/cluster/node-image puts into the node image under the names that
# kubeadm asks for. One stage an image.
ARG DEBIAN

FROM scratch AS pause
COPY pause /pause
ENTRYPOINT ["/pause"]

FROM scratch AS etcd
COPY etcd /usr/local/bin/etcd

FROM scratch AS coredns
COPY coredns /coredns
ENTRYPOINT ["/coredns"]

# Debian, for the iptables of kube-proxy and of the pod network.
FROM ${DEBIAN} AS kubernetes
COPY kubernetes pod-network /usr/local/bin/
RUN cd /usr/local/bin && for name in kube-apiserver kube-controller-manager kube-proxy kube-scheduler kubectl; do \
      ln -s kubernetes "$name"; done
