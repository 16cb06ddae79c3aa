{{/* Grafana's settings: GF_<section of grafana.ini>_<key>. Takes the root. */}}
{{- define "observability.grafanaEnvironment" -}}
{{- $settings := dict
  "GF_ANALYTICS_CHECK_FOR_PLUGIN_UPDATES" "false"
  "GF_ANALYTICS_CHECK_FOR_UPDATES" "false"
  "GF_ANALYTICS_REPORTING_ENABLED" "false"
  "GF_AUTH_ANONYMOUS_ENABLED" "true"
  "GF_AUTH_ANONYMOUS_ORG_ROLE" "Viewer"
  "GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH" "/etc/grafana/dashboards/wirebench-transports.json"
  "GF_LOG_MODE" "console"
  "GF_NEWS_NEWS_FEED_ENABLED" "false"
  "GF_PLUGINS_PLUGIN_ADMIN_ENABLED" "false"
  "GF_PLUGINS_PREINSTALL_DISABLED" "true"
  "GF_USERS_ALLOW_SIGN_UP" "false" -}}
{{- range $name, $value := $settings }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{ include "observability.secretEnvironment" (dict "secret" (include "observability.grafanaSecret" .) "variables" (dict "GF_SECURITY_ADMIN_USER" "admin-user" "GF_SECURITY_ADMIN_PASSWORD" "admin-password")) | trim }}
{{- end }}
