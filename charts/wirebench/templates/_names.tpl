{{/* Names, labels and image references. */}}

{{/* What all names begin with. The longest addition is "-socket-headless"; a Service's name may have 63 characters. */}}
{{- define "wirebench.fullname" -}}
{{- $name := contains .Chart.Name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name .Chart.Name) -}}
{{- .Values.fullnameOverride | default $name | trunc 46 | trimSuffix "-" -}}
{{- end }}

{{- define "wirebench.postgresName" -}}
{{- include "wirebench.fullname" . }}-postgres
{{- end }}

{{- define "wirebench.agentName" -}}
{{- include "wirebench.fullname" . }}-agent
{{- end }}

{{- define "wirebench.serviceAccountName" -}}
{{- .Values.serviceAccount.name | default (.Values.serviceAccount.create | ternary (include "wirebench.fullname" .) "default") -}}
{{- end }}

{{/* What selects pods, and never changes. Takes root, component, and another release as instance. */}}
{{- define "wirebench.selectorLabels" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .instance | default .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{/* The labels of every object. Takes root and component. */}}
{{- define "wirebench.labels" -}}
{{ include "wirebench.selectorLabels" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/part-of: wirebench
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- end }}

{{/* The labels of pods: without what would replace them when only the chart changes. Takes root, component, podLabels. */}}
{{- define "wirebench.podLabels" -}}
{{ include "wirebench.selectorLabels" . }}
app.kubernetes.io/part-of: wirebench
{{- with .podLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* A reference by digest, or else by tag. Takes root and image. */}}
{{- define "wirebench.image" -}}
{{- if .image.digest -}}
{{ .image.repository }}@{{ .image.digest }}
{{- else -}}
{{ .image.repository }}:{{ .image.tag | default .root.Chart.AppVersion }}
{{- end -}}
{{- end }}
