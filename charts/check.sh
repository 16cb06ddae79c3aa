#!/usr/bin/env bash
# Checks the charts without a cluster, with all values in charts/*/ci: Helm's rules, kube-score's, Kubernetes' schemas and
# checkov's policies for what is rendered, the unit tests, and that the READMEs are those of values.yaml.
#   KUBERNETES_VERSION=v… charts/check.sh checkov==… kubernetes-validate==…
set -euo pipefail
cd "$(dirname "$0")/.."
rendered=build/charts
mkdir -p "$rendered"
rm -f "$rendered"/*

# As in .checkov.yaml. Disruptions: who drains a node has ended the measurement on it.
not_scored=container-image-pull-policy,pod-networkpolicy,container-security-context-user-group-id,deployment-has-poddisruptionbudget

for values in charts/*/ci/*-values.yaml; do
  chart=${values%/ci/*}
  name=${chart#*/}-$(basename "$values" -values.yaml)
  options=(--kube-version "$KUBERNETES_VERSION" --values "$values")
  scripts/step "$values: helm lint" .tools/bin/helm lint --strict "${options[@]}" "$chart"
  .tools/bin/helm template wirebench "$chart" "${options[@]}" --namespace lab >"$rendered/$name.yaml" 2>"$rendered/$name.log"
  scripts/step "$values: kube-score" .tools/bin/kube-score score --ignore-test "$not_scored" "$rendered/$name.yaml"
done
scripts/step "helm-unittest" .tools/bin/helm-unittest --strict charts/*/
scripts/step "$2" .venv/bin/uvx --quiet "$2" --strict --kubernetes-version "${KUBERNETES_VERSION#v}" "$rendered"/*.yaml
scripts/step "$1" .venv/bin/uvx --quiet "$1" --config-file charts/.checkov.yaml --directory "$rendered"
# helm-docs prints charts in any order.
scripts/step "the READMEs are those of values.yaml (make chart-readmes)" \
  bash -c 'diff <(sort charts/*/README.md) <(make --silent chart-readmes ARGS=--dry-run | sort)'
