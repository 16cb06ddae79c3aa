{{/* Names, labels and image references. */}}

{{/* What all names begin with. The longest addition is "-grafana-dashboards". */}}
{{- define "observability.fullname" -}}
{{- $name := contains .Chart.Name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name .Chart.Name) -}}
{{- .Values.fullnameOverride | default $name | trunc 44 | trimSuffix "-" -}}
{{- end }}

{{- define "observability.prometheus" -}}
{{ include "observability.fullname" . }}-prometheus
{{- end }}

{{- define "observability.grafana" -}}
{{ include "observability.fullname" . }}-grafana
{{- end }}

{{- define "observability.grafanaSecret" -}}
{{ .Values.grafana.existingSecret | default (include "observability.grafana" .) }}
{{- end }}

{{/* What selects pods, and never changes. Takes root and name: prometheus, grafana or test. */}}
{{- define "observability.selectorLabels" -}}
app.kubernetes.io/name: {{ .name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: observability
{{- end }}

{{/* The labels of every object. Takes root and name. */}}
{{- define "observability.labels" -}}
{{ include "observability.selectorLabels" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/part-of: wirebench
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- end }}

{{/* A reference by digest, or else by tag. Takes an image. */}}
{{- define "observability.image" -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag }}
{{- end -}}
{{- end }}
