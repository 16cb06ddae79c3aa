{{/* The services: three times the same, so that what differs between them is the wire. */}}

{{/*
One service as JSON: `common`, overlaid with the service's own values, and what is not for values to say. Its ports are
those of the contract. Takes root and transport.
*/}}
{{- define "wirebench.service" -}}
{{- $ports := dict "rest" 5000 "grpc" 50051 "socket" 9000 -}}
{{- $port := get $ports .transport -}}
{{- $service := mergeOverwrite (deepCopy .root.Values.common) (deepCopy (get .root.Values .transport)) -}}
{{- $name := printf "%s-%s" (include "wirebench.fullname" .root) .transport -}}
{{- $fixed := dict "transport" .transport "name" $name "port" $port "adminPort" (add $port 1000) -}}
{{- $own := .root.Values.postgres.enabled | ternary (include "wirebench.postgresName" .root) "" -}}
{{- $_ := set $fixed "storeSecret" ($service.storeUrl.secretName | default $own) -}}
{{- mergeOverwrite $service $fixed | toJson -}}
{{- end }}

{{/* The enabled services as a JSON array. Takes the root. */}}
{{- define "wirebench.services" -}}
{{- $services := list -}}
{{- range $transport := list "rest" "grpc" "socket" -}}
{{- if (get $.Values $transport).enabled -}}
{{- $services = include "wirebench.service" (dict "root" $ "transport" $transport) | fromJson | append $services -}}
{{- end -}}
{{- end -}}
{{- $services | toJson -}}
{{- end }}

{{/*
The container of a service, in a Deployment and beside a load generator alike: what is measured is the same. Takes root
and service.
*/}}
{{- define "wirebench.container" -}}
{{- $service := .service -}}
{{- $inGo := eq $service.implementation "go" -}}
{{- $image := ternary .root.Values.image.servicesGo .root.Values.image.services $inGo -}}
name: {{ $service.transport }}
image: {{ include "wirebench.image" (dict "root" .root "image" $image) }}
imagePullPolicy: {{ $image.pullPolicy }}
command: [{{ ternary (printf "wirebench-go, %s" $service.transport) (printf "wirebench-%s" $service.transport) $inGo }}]
env:
  {{- include "wirebench.environment" $service | trim | nindent 2 }}
ports:
  - name: {{ $service.transport }}
    containerPort: {{ $service.port }}
  - name: admin
    containerPort: {{ $service.adminPort }}
{{ include "wirebench.probes" $service }}
{{- if $service.preStopSleepSeconds }}
lifecycle:
  preStop:
    sleep:
      seconds: {{ $service.preStopSleepSeconds }}
{{- end }}
resources:
  {{- include "wirebench.resources" $service.resources | trim | nindent 2 }}
securityContext:
  {{- include "wirebench.containerSecurityContext" . | nindent 2 }}
volumeMounts:
  - name: {{ $service.transport }}-tmp
    mountPath: /tmp
  {{- if $service.tls.enabled }}
  - name: {{ $service.transport }}-tls
    mountPath: /etc/wirebench/tls
    readOnly: true
  {{- end }}
  {{- include "wirebench.storeMount" $service | nindent 2 }}
{{- end }}

{{/*
What makes the tables before a service with a store that has some starts; several pods that do it at once do it once.
Takes root and service.
*/}}
{{- define "wirebench.migration" -}}
{{- $service := .service -}}
name: {{ $service.transport }}-migration
image: {{ include "wirebench.image" (dict "root" .root "image" .root.Values.image.services) }}
imagePullPolicy: {{ .root.Values.image.services.pullPolicy }}
command: [wirebench-store, migrate, --wait-s, "120"]
env:
  - name: WIREBENCH_STORE_URL_FILE
    value: /etc/wirebench/store/url
resources:
  {{- include "wirebench.resources" $service.resources | trim | nindent 2 }}
securityContext:
  {{- include "wirebench.containerSecurityContext" . | nindent 2 }}
volumeMounts:
  {{- include "wirebench.storeMount" $service | nindent 2 }}
{{- end }}

{{/* Where a service finds the URL of its store, a file in a Secret. Takes a service. */}}
{{- define "wirebench.storeMount" -}}
{{- if eq .store "postgres" -}}
- name: {{ .transport }}-store
  mountPath: /etc/wirebench/store
  readOnly: true
{{- end }}
{{- end }}

{{/* The settings of services/platform/settings.py, and of those in Go. Takes a service. */}}
{{- define "wirebench.environment" -}}
{{- $settings := dict
  "HOST" "0.0.0.0"
  "PORT" .port
  "ADMIN_PORT" .adminPort
  "RUNTIME" .runtime
  "WORKERS" .workers
  "THREADS" .threads
  "STORE" .store
  "DRAIN_PAUSE_S" .drainPauseSeconds
  "DRAIN_TIMEOUT_S" .drainTimeoutSeconds
  "RESOURCES_FROM" "cgroup" -}}
{{- if eq .implementation "go" -}}
{{- if or (ne (int .workers) 1) (eq .store "sqlite") -}}
{{- fail (printf "%s.implementation is go, which needs %s.workers 1 and %s.store memory or postgres" .transport .transport .transport) -}}
{{- end -}}
{{- $_ := set $settings "RUNTIME" (get (dict "rest" "net-http" "grpc" "grpc-go" "socket" "goroutines") .transport) -}}
{{- $_ := set $settings "THREADS" .goMaxProcs -}}
{{- end -}}
{{- if eq .transport "grpc" -}}
{{- $_ := set $settings "MAX_CONNECTION_AGE_S" .maxConnectionAgeSeconds -}}
{{- end -}}
{{- if .tls.enabled -}}
{{- $_ := set $settings "TLS_CERT" "/etc/wirebench/tls/tls.crt" -}}
{{- $_ := set $settings "TLS_KEY" "/etc/wirebench/tls/tls.key" -}}
{{- if .tls.mutual -}}
{{- $_ := set $settings "TLS_CLIENT_CA" "/etc/wirebench/tls/ca.crt" -}}
{{- end -}}
{{- end -}}
{{- if eq .store "postgres" -}}
{{- $_ := set $settings "STORE_URL_FILE" "/etc/wirebench/store/url" -}}
{{- if not .storeUrl.secretName -}}{{/* the chart's own server, whose data go with its pod */}}
{{- $_ := set $settings "STORE_WHEN_EMPTY" "fill" -}}
{{- end -}}
{{- end -}}
{{- range $name, $value := $settings }}
- name: WIREBENCH_{{ $name }}
  value: {{ $value | toString | quote }}
{{- end }}
{{- end }}

{{/*
A service has started when all its workers accept connections, which the admin port knows. Then gRPC is asked in its own
protocol; the kubelet can't do that over TLS, nor ask the socket service, and those are asked by their admin port. So is
whether a service is ready whose store is a server: its admin port asks that, which is no matter of liveness.

Under a load that saturates it, a service answers late, and is to be measured, not restarted or taken out: time-outs and
thresholds are generous, and only a service that answers nothing at all runs into them. Takes a service.
*/}}
{{- define "wirebench.probes" -}}
{{- $isGrpc := and (eq .transport "grpc") (not .tls.enabled) -}}
startupProbe:
  httpGet: {path: /readyz, port: admin}
  periodSeconds: 1
  timeoutSeconds: 5
  failureThreshold: 180
readinessProbe:
  {{- if and $isGrpc (ne .store "postgres") }}
  grpc: {port: {{ .port }}}
  {{- else }}
  httpGet: {path: /readyz, port: admin}
  {{- end }}
  periodSeconds: 1
  timeoutSeconds: 5
  failureThreshold: 5
livenessProbe:
  {{- if $isGrpc }}
  grpc: {port: {{ .port }}}
  {{- else }}
  httpGet: {path: /livez, port: admin}
  {{- end }}
  periodSeconds: 10
  timeoutSeconds: 10
  failureThreshold: 6
{{- end }}

{{/* The volumes of a service's container. Takes a service. */}}
{{- define "wirebench.volumes" -}}
- name: {{ .transport }}-tmp
  emptyDir: {}
{{- if .tls.enabled }}
- name: {{ .transport }}-tls
  secret:
    secretName: {{ required (printf "%s.tls.enabled needs the name of a Secret in %s.tls.secretName (or in common.tls.secretName)" .transport .transport) .tls.secretName }}
    defaultMode: 0440
{{- end }}
{{- if eq .store "postgres" }}
- name: {{ .transport }}-store
  secret:
    secretName: {{ required (printf "%s.store=postgres needs postgres.enabled, or the name of a Secret in %s.storeUrl.secretName (or in common.storeUrl.secretName)" .transport .transport) .storeSecret }}
    items: [{key: {{ .storeUrl.secretKey }}, path: url}]
    defaultMode: 0440
{{- end }}
{{- end }}

{{/* Seconds that a pod of a service may take to end; those at the end are for what workers do last. Takes a service. */}}
{{- define "wirebench.gracePeriodSeconds" -}}
{{- addf .preStopSleepSeconds .drainPauseSeconds .drainTimeoutSeconds 5 | ceil | int -}}
{{- end }}
