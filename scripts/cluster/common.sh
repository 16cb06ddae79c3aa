# shellcheck shell=bash disable=SC2034
# What the scripts of the cluster share; they source it from the project's folder.

# Files that only a living cluster and its images need; `make clean` removes them.
state=build/cluster
kubeconfig=$state/kubeconfig
context=kind-wirebench
ip_family=${IP_FAMILY:-ipv4}
# By kind's own switch, Podman is used, which else takes further images to save for names of the first.
engine=docker
if [[ ${KIND_EXPERIMENTAL_PROVIDER-} == podman ]]; then
  engine=podman
  docker() { if [[ $1 == save ]]; then podman save --multi-image-archive "${@:2}"; else podman "$@"; fi; }
  export -f docker # to scripts/step
fi

kubectl_ours() {
  .tools/bin/kubectl --kubeconfig "$kubeconfig" --context "$context" "$@"
}

# Prints what is wrong and what to do next, and ends the script.
fail() { # what is wrong, what to do [exit status]
  printf '%s: %s\n%*s  next: %s\n' "${program:-cluster}" "$1" "${#program}" '' "$2" >&2
  exit "${3:-1}"
}

# The engine that `docker` talks to answers. Ends the script if there is one that this user may not use.
engine_answers() {
  local socket=/var/run/docker.sock user
  ! timeout 20 "$engine" info >/dev/null 2>&1 || return 0
  user=$(id --user --name)
  [[ $engine${DOCKER_HOST-} != docker || ! -S $socket || -w $socket ]] ||
    fail "the user $user may not use the Docker engine of this machine" "sudo usermod --append --groups docker $user, and sign in again"
  return 1
}

require_engine() {
  engine_answers && return
  fail "no Docker engine answers${DOCKER_HOST:+ at DOCKER_HOST=$DOCKER_HOST}" \
    "install Docker and start it; as root on Debian, make docker-up does both"
}

require_cluster() {
  if ! [[ -x .tools/bin/kubectl && -f $kubeconfig ]] ||
    ! kubectl_ours get --raw /readyz --request-timeout=10s >/dev/null 2>&1; then
    fail "no cluster answers" "make cluster-up makes one"
  fi
}

# runc doesn't start a privileged container, which a kind node is, where the capability bounding set of this machine
# lacks one of all capabilities. CAP_SYS_RESOURCE (bit 24) is what sandboxes are known to remove.
lacks_sys_resource() {
  local bounding
  bounding=$(awk '/^CapBnd:/ { print $2 }' /proc/self/status 2>/dev/null) && [[ -n $bounding ]] &&
    ! (((16#$bounding >> 24) & 1))
}

# Installs packages of Debian, once no other apt-get does.
install_packages() { # packages
  scripts/step "$program: reading the lists of Debian's packages" apt-get --quiet update
  scripts/step "$program: installing $*" env DEBIAN_FRONTEND=noninteractive \
    apt-get --quiet --option DPkg::Lock::Timeout=600 install --yes --no-install-recommends "$@"
}

# A run's figures would be of a machine that builds, loads or installs something beside it. What a killed run has left
# doesn't count: its process has gone.
require_no_run() {
  local name pid
  while read -r name pid; do
    [[ ! -d /proc/$pid ]] || fail "a run is measuring in this cluster: $name" "wait for its end"
  done < <(kubectl_ours get namespaces --selector wirebench.dev/run --request-timeout=10s --output \
    'jsonpath={range .items[*]}{.metadata.name} {.metadata.annotations.wirebench\.dev/pid}{"\n"}{end}' 2>/dev/null)
}

# The one line that says why a command failed: the last that isn't empty.
last_line() {
  awk 'NF { line = $0 } END { print line }'
}

# The first twelve digits of a hash of what comes on standard input, as a tag says it.
short_hash() {
  sha256sum | cut -c1-12
}

# A folder's names, contents and which files can be run, as bytes that are the same wherever and whenever it was made.
folder_bytes() { # folder
  tar -C "$1" --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX -c .
}

# Prints the published image of a name in images/published.txt if the engine has it or can pull it, and else fails. Says
# once why it can't and what is done instead; what couldn't be pulled is not tried again for twelve hours, or until
# `make clean`.
pull() { # name, what is done instead
  local image reason not_pulled=$state/not-pulled/$1
  image=$(awk -v name="$1" '$1 == name { print $2 }' images/published.txt)
  if docker image inspect "$image" >/dev/null 2>&1; then
    echo "$image"
    return
  fi
  [[ -z $(find "$not_pulled" -mmin -720 2>/dev/null) ]] || return
  # Whether the registry can be reached at all shows sooner in a look at the image's manifest than in a pull.
  if reason=$(timeout 15 "$engine" manifest inspect "$image" 2>&1 >/dev/null) &&
    reason=$(timeout 900 "$engine" pull --quiet "$image" 2>&1 >/dev/null); then
    rm -f "$not_pulled"
    echo "$image"
    return
  fi
  reason=$(last_line <<<"$reason")
  reason=${reason%: *@sha256:*} # the image is named already
  reason=${reason##*: }         # and the cause stands last
  mkdir -p "${not_pulled%/*}"
  printf '%s\n' "${reason:=no answer in time}" >"$not_pulled"
  echo "$1: ${image%@*} can't be pulled ($reason): $2" >&2
  return 1
}

# Prints the name of an image of Debian with these packages, and makes it if the engine doesn't have it.
debian() { # what it is for, packages with commas between
  local image
  image=wirebench/debian:$(cat images/offline/debian - <<<"$2" | short_hash)
  docker image inspect "$image" >/dev/null 2>&1 ||
    scripts/step "$1: making Debian's root file system from packages" images/offline/debian "$image" "$2" >&2 ||
    return # in base=$(debian …), a failure ends nothing by itself
  echo "$image"
}
