{{- /* Made by `npm run manifests -- --write` of k8s/charts/spock: change those. */ -}}
{{- /* The sidecar by the values of a chart, as YAML: labels, annotations, podSecurityContext, container, volumes,
appVolumeMounts, volumeClaimTemplates. What stands in a component is in _components.tpl. */ -}}
{{- define "spock-node.parts" -}}
{{- $components := include "spock-node.components" . | fromYaml -}}
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
