{{/* What both charts use: charts/observability has this file by a link. */}}

{{/*
What all names begin with: the release's name, followed by the chart's unless that is part of it. The longest addition is
"-grafana-dashboards"; a Service's name may have 63 characters.
*/}}
{{- define "shared.fullname" -}}
{{- $name := contains .Chart.Name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name .Chart.Name) -}}
{{- $name | trunc 44 | trimSuffix "-" -}}
{{- end }}

{{/* What selects pods, and never changes. Takes root, component, and another release as instance. */}}
{{- define "shared.selectorLabels" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .instance | default .root.Release.Name | quote }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{/* The name and the labels of every object. Takes root, name and component. */}}
{{- define "shared.metadata" -}}
metadata:
  name: {{ .name | quote }}
  labels:
    {{- include "shared.selectorLabels" . | nindent 4 }}
    app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
    app.kubernetes.io/part-of: wirebench
    app.kubernetes.io/managed-by: {{ .root.Release.Service }}
    helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- end }}

{{/* The labels of pods: without what would replace them when only the chart changes. Takes root, component, podLabels. */}}
{{- define "shared.podLabels" -}}
labels:
  {{- include "shared.selectorLabels" . | nindent 2 }}
  app.kubernetes.io/part-of: wirebench
  {{- with .podLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{/*
The beginning of every pod's spec. Service links would be environment variables that look like our settings: beside a
Service called "wirebench", WIREBENCH_PORT would be an address. Takes root, the user, a number; place, which has where the
pod may run; and for a pod that talks to the API server, its service account.
*/}}
{{- define "shared.podSpec" -}}
{{- with .account -}}
serviceAccountName: {{ . | quote }}
{{ end -}}
automountServiceAccountToken: {{ not (empty .account) }}
enableServiceLinks: false
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: {{ .user }}
  runAsGroup: {{ .user }}
  fsGroup: {{ .user }}
  seccompProfile:
    type: RuntimeDefault
{{- range $key := list "nodeSelector" "affinity" "tolerations" }}
{{- with get $.place $key }}
{{ $key }}:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- end }}

{{/*
What every container has. CPU and memory are limited to what is requested, unless less is requested: a pod gets neither
less nor more. Takes root, the image's name in values, and resources.
*/}}
{{- define "shared.container" -}}
{{- $image := get .root.Values.image .image -}}
image: "{{ $image.repository }}:{{ $image.tag | default .root.Chart.AppVersion }}"
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
resources:
  requests:
    cpu: {{ .resources.cpuRequest | default .resources.cpu | quote }}
    memory: {{ .resources.memoryRequest | default .resources.memory | quote }}
    ephemeral-storage: 64Mi
  limits:
    cpu: {{ .resources.cpu | quote }}
    memory: {{ .resources.memory | quote }}
    ephemeral-storage: 2Gi
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- end }}
