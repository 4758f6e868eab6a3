{{- /* Made by `npm run manifests -- --write` of k8s/components: change those. */ -}}
{{- define "spock.components" -}}
sidecar:
  labels:
    spock-sidecar: present
  podSecurityContext:
    fsGroup: 2000
  container:
    args:
      - start
    env:
      - name: POD_IP
        valueFrom:
          fieldRef:
            fieldPath: status.podIP
      - name: SPOCK_ADMIN
        value: "[::]:9464"
      - name: SPOCK_ADMIN_ANY
        value: "true"
      - name: SPOCK_ADVERTISE
        value: $(POD_IP)
      - name: SPOCK_OWNER
        valueFrom:
          fieldRef:
            fieldPath: metadata.uid
      - name: SPOCK_ZONE
        valueFrom:
          fieldRef:
            fieldPath: metadata.labels['topology.kubernetes.io/zone']
      - name: SPOCK_DRAIN_TIMEOUT_MS
        value: "25000"
      - name: SPOCK_OUTPUT_TOTAL_BYTES_MAX
        value: "67108864"
    image: spock-sidecar:0.1.0
    livenessProbe:
      failureThreshold: 3
      httpGet:
        path: /livez
        port: admin
      periodSeconds: 10
      timeoutSeconds: 5
    name: sidecar
    ports:
      - containerPort: 9464
        name: admin
    readinessProbe:
      failureThreshold: 2
      httpGet:
        path: /readyz
        port: admin
      periodSeconds: 5
      timeoutSeconds: 5
    resources:
      limits:
        memory: 256Mi
      requests:
        cpu: 20m
        memory: 96Mi
    restartPolicy: Always
    securityContext:
      allowPrivilegeEscalation: false
      capabilities:
        drop:
          - ALL
      readOnlyRootFilesystem: true
      runAsGroup: 10001
      runAsNonRoot: true
      runAsUser: 10001
      seccompProfile:
        type: RuntimeDefault
    startupProbe:
      exec:
        command:
          - sidecar
          - health
      failureThreshold: 300
      periodSeconds: 1
      timeoutSeconds: 5
    volumeMounts:
      - mountPath: /uds
        name: uds
  volumes:
    - emptyDir:
        medium: Memory
        sizeLimit: 16Mi
      name: uds
  appVolumeMounts:
    - mountPath: /uds
      name: uds
      readOnly: true
consul-agent-on-node:
  env:
    - name: HOST_IP
      valueFrom:
        fieldRef:
          fieldPath: status.hostIP
    - name: CONSUL_HTTP_ADDR
      value: http://$(HOST_IP):8500
consul-servers-tls-acl:
  env:
    - name: POD_NAME
      valueFrom:
        fieldRef:
          fieldPath: metadata.name
    - name: POD_NAMESPACE
      valueFrom:
        fieldRef:
          fieldPath: metadata.namespace
    - name: CONSUL_HTTP_ADDR
      value: https://consul-server-0.consul-server.consul.svc:8501,https://consul-server-1.consul-server.consul.svc:8501,https://consul-server-2.consul-server.consul.svc:8501
    - name: CONSUL_CACERT
      value: /etc/consul/ca/tls.crt
    - name: CONSUL_TLS_SERVER_NAME
      value: server.dc1.consul
    - name: SPOCK_CONSUL_LOGIN_METHOD
      value: spock
    - name: SPOCK_CONSUL_LOGIN_TOKEN_FILE
      value: /var/run/secrets/consul-login/token
    - name: SPOCK_CONSUL_LOGIN_META
      value: pod=$(POD_NAMESPACE)/$(POD_NAME)
  volumeMounts:
    - mountPath: /etc/consul/ca
      name: consul-ca
      readOnly: true
    - mountPath: /var/run/secrets/consul-login
      name: consul-login
      readOnly: true
  volumes:
    - configMap:
        name: consul-ca-cert
      name: consul-ca
    - name: consul-login
      projected:
        sources:
          - serviceAccountToken:
              expirationSeconds: 3600
              path: token
consul-token:
  env:
    - name: CONSUL_HTTP_TOKEN_FILE
      value: /var/run/secrets/consul-token/token
  volumeMounts:
    - mountPath: /var/run/secrets/consul-token
      name: consul-token
      readOnly: true
  volumes:
    - name: consul-token
      secret:
        defaultMode: 288
        secretName: spock-consul-token
spock-on-node:
  env:
    - name: SPOCK_BACKEND
      value: spock,consul
    - name: SPOCK_UPSTREAM
      value: tls://spock-node.spock.svc:7777
    - name: SPOCK_UPSTREAM_CA
      value: /etc/spock/node/ca.crt
    - name: SPOCK_UPSTREAM_TOKEN_FILE
      value: /etc/spock/node/token
  volumeMounts:
    - mountPath: /etc/spock/node
      name: spock-node
      readOnly: true
  volumes:
    - name: spock-node
      secret:
        defaultMode: 288
        secretName: spock-node-client
state-directory:
  env:
    - name: SPOCK_STATE_DIR
      value: /var/lib/spock/state
  volumeMounts:
    - mountPath: /var/lib/spock
      name: spock-state
  volumes:
    - emptyDir:
        sizeLimit: 64Mi
      name: spock-state
events:
  env:
    - name: SPOCK_EVENTS
      value: /var/lib/spock-events/log
    - name: SPOCK_EVENTS_BYTES_MAX
      value: "268435456"
  volumeMounts:
    - mountPath: /var/lib/spock-events
      name: spock-events
  volumes:
    - emptyDir:
        sizeLimit: 384Mi
      name: spock-events
events-volume-claim:
  env:
    - name: SPOCK_EVENTS
      value: /var/lib/spock-events/log
    - name: SPOCK_EVENTS_BYTES_MAX
      value: "805306368"
  volumeMounts:
    - mountPath: /var/lib/spock-events
      name: spock-events
  volumeClaimTemplates:
    - metadata:
        name: spock-events
      spec:
        accessModes:
          - ReadWriteOnce
        resources:
          requests:
            storage: 1Gi
grpc:
  env:
    - name: SPOCK_GRPC
      value: unix:/uds/grpc.sock
prometheus-annotations:
  annotations:
    prometheus.io/path: /metrics
    prometheus.io/port: "9464"
    prometheus.io/scrape: "true"
admin-on-loopback:
  changed:
    - name: SPOCK_ADMIN
      value: 127.0.0.1:9464
    - name: SPOCK_ADMIN_ANY
      value: "false"
  probes:
    livenessProbe:
      exec:
        command:
          - sidecar
          - status
      failureThreshold: 3
      periodSeconds: 10
      timeoutSeconds: 5
    readinessProbe:
      exec:
        command:
          - sidecar
          - health
      failureThreshold: 2
      periodSeconds: 5
      timeoutSeconds: 5
ready-without-sidecar:
  probes:
    readinessProbe: null
start-without-registry:
  probes:
    startupProbe:
      exec:
        command:
          - sidecar
          - status
      failureThreshold: 300
      periodSeconds: 1
      timeoutSeconds: 5
{{- end -}}
