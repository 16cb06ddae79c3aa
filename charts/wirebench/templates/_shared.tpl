{{/* What both charts use: charts/observability has this file by a link. */}}

{{- define "shared.containerSecurityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{/* Where a pod may run. Takes anything that has nodeSelector and tolerations. */}}
{{- define "shared.nodes" -}}
{{- with .nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/*
The container of a PostgreSQL server, whose data go with its pod: the user `wirebench`, and a database of that name.
Takes image, pullPolicy, resources and maxConnections. Its volumes, and what a probe asks it, are below.
*/}}
{{- define "postgres.container" -}}
name: postgres
image: {{ .image }}
imagePullPolicy: {{ .pullPolicy }}
args: [postgres, -c, max_connections={{ .maxConnections }}]
env:
  - name: POSTGRES_USER
    value: wirebench
  - name: POSTGRES_DB
    value: wirebench
  - name: POSTGRES_PASSWORD_FILE
    value: /etc/wirebench/postgres/password
  # Not the volume itself, which belongs to root.
  - name: PGDATA
    value: /var/lib/postgresql/data/wirebench
ports:
  - name: postgres
    containerPort: 5432
resources:
  {{- toYaml .resources | nindent 2 }}
securityContext:
  {{- include "shared.containerSecurityContext" . | nindent 2 }}
  # The user that its image is made for.
  runAsUser: 999
  runAsGroup: 999
volumeMounts:
  - name: postgres-data
    mountPath: /var/lib/postgresql/data
  - name: postgres-run
    mountPath: /var/run/postgresql
  - name: postgres-tmp
    mountPath: /tmp
  - name: postgres-password
    mountPath: /etc/wirebench/postgres
    readOnly: true
{{- end }}

{{/* What a probe asks it every second: over TCP, where it doesn't listen before its database is made. */}}
{{- define "postgres.isReady" -}}
exec:
  command: [pg_isready, --quiet, --host=127.0.0.1, --username=wirebench]
periodSeconds: 1
timeoutSeconds: 5
{{- end }}

{{/* The volumes of that container. Takes the name of the Secret that has its `password`. */}}
{{- define "postgres.volumes" -}}
- name: postgres-data
  emptyDir: {}
- name: postgres-run
  emptyDir: {}
- name: postgres-tmp
  emptyDir: {}
- name: postgres-password
  secret:
    secretName: {{ . }}
    items: [{key: password, path: password}]
    # Its group is that of the pod.
    defaultMode: 0440
{{- end }}
