{{/* The port of each component that there is, as JSON. Takes the root. */}}
{{- define "observability.ports" -}}
{{- merge (dict "prometheus" 9090) (.Values.grafana.enabled | ternary (dict "grafana" 3000) dict) | toJson -}}
{{- end }}
