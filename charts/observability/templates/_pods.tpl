{{/* What all pods have in common. */}}

{{/* The beginning of every pod's spec. Takes root and the user, a number. */}}
{{- define "observability.podSpec" -}}
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
{{- end }}

{{/* Environment variables from a Secret. Takes secret, its name, and variables: their keys in it by name. */}}
{{- define "observability.secretEnvironment" -}}
{{- range $variable, $key := .variables }}
- name: {{ $variable }}
  valueFrom:
    secretKeyRef:
      name: {{ $.secret }}
      key: {{ $key }}
{{- end }}
{{- end }}
