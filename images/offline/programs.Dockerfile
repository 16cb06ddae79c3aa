# The images of Kubernetes' own pods, which images/offline/build-node puts into the node image under the names that
# kubeadm asks for. One stage an image.
ARG DEBIAN

FROM scratch AS etcd
COPY etcd /usr/local/bin/etcd

FROM scratch AS coredns
COPY coredns /coredns
ENTRYPOINT ["/coredns"]

# Kubernetes, and of Debian only the programs that kube-proxy and the pod network call, with their libraries.
FROM ${DEBIAN} AS needed
LABEL dev.wirebench.stage=build
COPY kubernetes pod-network /needed/usr/local/bin/
RUN cd /needed/usr/local/bin \
 && for name in kube-apiserver kube-controller-manager kube-proxy kube-scheduler kubectl; do ln -s kubernetes "$name"; done
RUN bash -ec 'files=(/usr/bin/{bash,cat,env,mv,sleep} /usr/sbin/ip /usr/sbin/ip{,6}tables{,-save,-restore} /usr/lib/*/xtables/*.so); \
    cp --dereference --parents "${files[@]}" $(ldd "${files[@]}" | grep -oE "/\S+ \(0x" | cut -d" " -f1 | sort -u) /needed'

FROM scratch AS kubernetes
COPY --from=needed /needed /

# What holds a pod's namespaces: it waits, and ends when it is killed. Its layers are Kubernetes'.
FROM kubernetes AS pause
ENTRYPOINT ["sleep", "infinity"]
