{{- /* The sidecar by the values of a chart, as YAML: labels, annotations, podSecurityContext, container, volumes,
appVolumeMounts, volumeClaimTemplates. What stands in a component is in _components.tpl. */ -}}
{{- define "spock.parts" -}}
{{- $components := include "spock.components" . | fromYaml -}}
{{- $parts := $components.sidecar -}}
{{- $container := $parts.container -}}
{{- $consul := .consul -}}
{{- $with := list -}}
{{- if eq $consul.kind "agent" }}{{ $with = append $with "consul-agent-on-node" }}{{ end -}}
{{- if eq $consul.kind "servers" }}{{ $with = append $with "consul-servers-tls-acl" }}{{ end -}}
{{- if $consul.tokenSecret }}{{ $with = append $with "consul-token" }}{{ end -}}
{{- $onNode := .spockOnNode | default dict -}}
{{- if $onNode.enabled }}{{ $with = append $with "spock-on-node" }}{{ end -}}
{{- if .stateDirectory }}{{ $with = append $with "state-directory" }}{{ end -}}
{{- if eq (.events | default "none") "volume" }}{{ $with = append $with "events" }}{{ end -}}
{{- if eq (.events | default "none") "claim" }}{{ $with = append $with "events-volume-claim" }}{{ end -}}
{{- if .grpc }}{{ $with = append $with "grpc" }}{{ end -}}
{{- if .prometheusAnnotations }}{{ $with = append $with "prometheus-annotations" }}{{ end -}}
{{- if eq (.adminReach | default "pod") "loopback" -}}
{{- if .prometheusAnnotations }}{{ fail "spock: Prometheus cannot scrape an admin port on loopback: leave out prometheusAnnotations or adminReach: loopback" }}{{ end -}}
{{- $with = append $with "admin-on-loopback" -}}
{{- end -}}
{{- if .readyWithoutSidecar }}{{ $with = append $with "ready-without-sidecar" }}{{ end -}}
{{- if .startWithoutRegistry }}{{ $with = append $with "start-without-registry" }}{{ end -}}
{{- $own := list -}}
{{- range $name := $with -}}
{{- $part := get $components $name -}}
{{- /* Before what is there, as kustomize has it. */ -}}
{{- $_ := set $container "env" (concat ($part.env | default list) $container.env) -}}
{{- $own = concat $own ($part.changed | default list) -}}
{{- range $probe, $value := ($part.probes | default dict) -}}
{{- if $value }}{{ $_ := set $container $probe $value }}{{ else }}{{ $_ := unset $container $probe }}{{ end -}}
{{- end -}}
{{- $_ := set $container "volumeMounts" (concat ($part.volumeMounts | default list) $container.volumeMounts) -}}
{{- $_ := set $parts "volumes" (concat ($part.volumes | default list) $parts.volumes) -}}
{{- $_ := set $parts "annotations" (merge ($parts.annotations | default dict) ($part.annotations | default dict)) -}}
{{- $_ := set $parts "volumeClaimTemplates" (concat ($parts.volumeClaimTemplates | default list) ($part.volumeClaimTemplates | default list)) -}}
{{- end -}}
{{- if eq $consul.kind "agent" -}}
{{- $own = append $own (dict "name" "CONSUL_HTTP_ADDR" "value" $consul.agent.address) -}}
{{- else if eq $consul.kind "servers" -}}
{{- $own = append $own (dict "name" "CONSUL_HTTP_ADDR" "value" (join "," $consul.servers.addresses)) -}}
{{- $own = append $own (dict "name" "CONSUL_TLS_SERVER_NAME" "value" $consul.servers.tlsServerName) -}}
{{- $own = append $own (dict "name" "SPOCK_CONSUL_LOGIN_METHOD" "value" $consul.servers.loginMethod) -}}
{{- end -}}
{{- if $onNode.enabled }}{{ $own = append $own (dict "name" "SPOCK_UPSTREAM" "value" $onNode.address) }}{{ end -}}
{{- $env := $container.env -}}
{{- range $given := concat $own (.env | default list) -}}
{{- $kept := list -}}
{{- $isThere := false -}}
{{- range $one := $env -}}
{{- if eq $one.name $given.name }}{{ $isThere = true }}{{ $kept = append $kept $given }}{{ else }}{{ $kept = append $kept $one }}{{ end -}}
{{- end -}}
{{- $env = ternary $kept (prepend $kept $given) $isThere -}}
{{- end -}}
{{- $_ := set $container "env" $env -}}
{{- range $volume := $parts.volumes -}}
{{- if eq $volume.name "consul-ca" }}{{ $_ := set $volume.configMap "name" $consul.servers.caConfigMap }}{{ end -}}
{{- if eq $volume.name "consul-token" }}{{ $_ := set $volume.secret "secretName" $consul.tokenSecret }}{{ end -}}
{{- if eq $volume.name "spock-tls" }}{{ $_ := set $volume.secret "secretName" $.tlsSecret }}{{ end -}}
{{- if eq $volume.name "spock-tokens" }}{{ $_ := set $volume.secret "secretName" $.tokensSecret }}{{ end -}}
{{- if eq $volume.name "spock-node" }}{{ $_ := set $volume.secret "secretName" $onNode.secret }}{{ end -}}
{{- end -}}
{{- $_ := set $container "image" (printf "%s:%s" .image.repository .image.tag) -}}
{{- if .image.pullPolicy }}{{ $_ := set $container "imagePullPolicy" .image.pullPolicy }}{{ end -}}
{{- $_ := set $container "resources" .resources -}}
{{- if eq (toString .native) "false" }}{{ $_ := unset $container "restartPolicy" }}{{ end -}}
{{- toYaml $parts -}}
{{- end -}}

{{- /* What an app's chart takes. Each is called with the context of that chart, whose values have the sidecar's under `spock`. */ -}}
{{- /* Ends with a sentence where `events: claim` would mount a volume that no claim is made for: (list VALUES KIND NAME). */ -}}
{{- define "spock.checkClaim" -}}
{{- if and (eq ((index . 0).events | default "none") "claim") (ne (index . 1) "StatefulSet") -}}
{{- fail (printf "%s: only a StatefulSet has volume claims for events. There, call it as (list . %s\"StatefulSet\") and include spock.volumeClaimTemplates beside the template; elsewhere set spock.events to volume" (index . 2) (index . 3)) -}}
{{- end -}}
{{- end -}}

{{- define "spock.labels" -}}
{{- toYaml (include "spock.parts" .Values.spock | fromYaml).labels -}}
{{- end -}}

{{- define "spock.annotations" -}}
{{- toYaml ((include "spock.parts" .Values.spock | fromYaml).annotations | default dict) -}}
{{- end -}}

{{- define "spock.podSecurityContext" -}}
{{- toYaml (include "spock.parts" .Values.spock | fromYaml).podSecurityContext -}}
{{- end -}}

{{- /* An item for initContainers, where it must be the first; for containers, where `native` is false. In a StatefulSet with
`events: claim` it is called with (list . "StatefulSet"). */ -}}
{{- define "spock.container" -}}
{{- $args := list . "" -}}
{{- if kindIs "slice" . }}{{ $args = . }}{{ end -}}
{{- $values := (index $args 0).Values.spock -}}
{{- include "spock.checkClaim" (list $values (index $args 1) "spock.container" "") -}}
{{- toYaml (list (include "spock.parts" $values | fromYaml).container) -}}
{{- end -}}

{{- define "spock.volumes" -}}
{{- toYaml (include "spock.parts" .Values.spock | fromYaml).volumes -}}
{{- end -}}

{{- /* For each container of the app that looks services up. */ -}}
{{- define "spock.volumeMounts" -}}
{{- toYaml (include "spock.parts" .Values.spock | fromYaml).appVolumeMounts -}}
{{- end -}}

{{- /* For a StatefulSet with `events: claim`. */ -}}
{{- define "spock.volumeClaimTemplates" -}}
{{- toYaml ((include "spock.parts" .Values.spock | fromYaml).volumeClaimTemplates | default list) -}}
{{- end -}}

{{- /* A whole pod template with the sidecar, of the one without it: `include "spock.podTemplate" (list . TEXT)`; in a StatefulSet with
`events: claim`, (list . TEXT "StatefulSet"). As components/sidecar
does, it mounts the socket in the first container, and leaves alone a pod with the label `spock-sidecar: none`. */ -}}
{{- define "spock.podTemplate" -}}
{{- $template := index . 1 | fromYaml -}}
{{- if hasKey $template "Error" }}{{ fail (printf "spock.podTemplate: this is no YAML: %s" $template.Error) }}{{ end -}}
{{- $metadata := $template.metadata | default dict -}}
{{- if ne (get ($metadata.labels | default dict) "spock-sidecar") "none" -}}
{{- $values := (index . 0).Values.spock -}}
{{- $kind := "" -}}
{{- if gt (len .) 2 }}{{ $kind = index . 2 }}{{ end -}}
{{- include "spock.checkClaim" (list $values $kind "spock.podTemplate" "TEXT ") -}}
{{- $parts := include "spock.parts" $values | fromYaml -}}
{{- $spec := $template.spec | default dict -}}
{{- if not $spec.containers }}{{ fail "spock.podTemplate: the pod template has no containers" }}{{ end -}}
{{- range concat $spec.containers ($spec.initContainers | default list) -}}
{{- if eq .name "sidecar" }}{{ fail "spock.podTemplate: the pod template has a container called sidecar already" }}{{ end -}}
{{- end -}}
{{- $_ := set $metadata "labels" (merge $parts.labels ($metadata.labels | default dict)) -}}
{{- if $parts.annotations -}}
{{- $_ := set $metadata "annotations" (merge ($metadata.annotations | default dict) $parts.annotations) -}}
{{- end -}}
{{- $_ := set $template "metadata" $metadata -}}
{{- /* A group of the pod's own stays: the volume then belongs to that. */ -}}
{{- $_ := set $spec "securityContext" (merge ($spec.securityContext | default dict) $parts.podSecurityContext) -}}
{{- $_ := set $spec "volumes" (concat $parts.volumes ($spec.volumes | default list)) -}}
{{- $app := index $spec.containers 0 -}}
{{- $_ := set $app "volumeMounts" (concat ($app.volumeMounts | default list) $parts.appVolumeMounts) -}}
{{- if $values.native -}}
{{- $_ := set $spec "initContainers" (prepend ($spec.initContainers | default list) $parts.container) -}}
{{- else -}}
{{- if has $spec.restartPolicy (list "Never" "OnFailure") }}{{ fail "spock.podTemplate: with an ordinary sidecar (native: false) a Job would never end; label its pod spock-sidecar=none" }}{{ end -}}
{{- $_ := set $spec "containers" (append $spec.containers $parts.container) -}}
{{- end -}}
{{- end -}}
{{- toYaml $template -}}
{{- end -}}
