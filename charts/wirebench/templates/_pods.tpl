{{/* What all pods have in common. */}}

{{/*
The beginning of every pod's spec. Service links would be environment variables that look like our settings: beside a
Service called "wirebench", WIREBENCH_PORT would be an address. Takes the root.
*/}}
{{- define "wirebench.podSpec" -}}
serviceAccountName: {{ include "wirebench.serviceAccountName" . }}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  seccompProfile:
    type: RuntimeDefault
{{- end }}

{{/* Requests and limits, the same unless a cpuRequest is given: a pod gets neither less nor more. Takes cpu and memory. */}}
{{- define "wirebench.resources" }}
requests:
  cpu: {{ .cpuRequest | default .cpu | toString | quote }}
  memory: {{ .memory | toString | quote }}
limits:
  cpu: {{ .cpu | toString | quote }}
  memory: {{ .memory | toString | quote }}
{{- end }}
