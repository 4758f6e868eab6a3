// The policy that puts the sidecar into pods on admission. It is made of what the overlay for an agent on the node renders to, so
// that the sidecar is written down once. `npm run manifests -- --write` writes it, and a test holds it in step.
// https://kubernetes.io/docs/reference/access-authn-authz/mutating-admission-policy/
import { parseAllDocuments } from 'yaml';

const HEAD = `# Made by \`npm run manifests -- --write\` of components/sidecar and components/consul-agent-on-node: change those.
# Puts the sidecar into every pod that is created in a namespace with the label \`spock-injection: enabled\`, but those with the label
# \`spock-sidecar: none\` and those that have one. Kubernetes 1.34 with the API admissionregistration.k8s.io/v1beta1 switched on.`;

/** Fields whose members have names of the user's own: they are maps in CEL, and all others are objects. */
const MAPS = new Set(['limits', 'requests', 'labels']);

/** A value as a CEL expression. `path` is the name of its type: `Object.spec.initContainers`, for an element of the list too. */
function cel(value, path, indent) {
	if (typeof value === 'string') return JSON.stringify(value);
	if (typeof value !== 'object') return String(value);
	const inner = `${indent}  `;
	if (Array.isArray(value)) {
		if (value.every((item) => typeof item === 'string'))
			return `[${value.map((item) => JSON.stringify(item)).join(', ')}]`;
		return block(
			'[',
			value.map((item) => cel(item, path, inner)),
			']',
			indent,
		);
	}
	const isMap = MAPS.has(path.split('.').at(-1));
	const members = Object.entries(value).map(([key, member]) =>
		isMap ? `${JSON.stringify(key)}: ${cel(member, path, inner)}` : `${key}: ${cel(member, `${path}.${key}`, inner)}`,
	);
	return block(isMap ? '{' : `${path}{`, members, '}', indent);
}

function block(open, members, close, indent) {
	const oneLine = `${open}${members.join(', ')}${close}`;
	if (!oneLine.includes('\n') && indent.length + oneLine.length < 100) return oneLine;
	return `${open}\n${members.map((member) => `${indent}  ${member}`).join(',\n')}\n${indent}${close}`;
}

/** The manifest of the policy, out of the YAML that the overlay is rendered to. */
export function injectionPolicy(overlay) {
	const documents = parseAllDocuments(overlay).map((document) => document.toJS());
	const { metadata, spec } = documents.find((document) => document.kind === 'Deployment').spec.template;
	const sidecar = spec.initContainers.find((container) => container.name === 'sidecar');
	const volume = spec.volumes.find(({ name }) => name === 'uds');
	const mount = spec.containers[0].volumeMounts.find(({ name }) => name === 'uds');
	const consul = sidecar.env.find(({ name }) => name === 'CONSUL_HTTP_ADDR');

	const container = cel(
		{
			...sidecar,
			image: 'variables.image',
			env: sidecar.env.map((one) => (one === consul ? { ...one, value: 'variables.consul' } : one)),
		},
		'Object.spec.initContainers',
		'  ',
	).replace(/"(variables\.\w+)"/g, '$1');
	return `${HEAD}
apiVersion: admissionregistration.k8s.io/v1beta1
kind: MutatingAdmissionPolicy
metadata:
  name: spock-sidecar
spec:
  # Who asked for a sidecar gets no pod without one.
  failurePolicy: Fail
  reinvocationPolicy: IfNeeded
  matchConstraints:
    resourceRules:
      - apiGroups: [""]
        apiVersions: ["v1"]
        operations: ["CREATE"]
        resources: ["pods"]
    objectSelector:
      matchExpressions:
        - key: spock-sidecar
          operator: NotIn
          values: ["none"]
  matchConditions:
    - name: has-no-sidecar
      expression: >-
        !object.spec.containers.exists(c, c.name == "sidecar") &&
        !(has(object.spec.initContainers) && object.spec.initContainers.exists(c, c.name == "sidecar"))
  # What is yours to change, with a patch: the first two.
  variables:
    - name: image
      expression: ${JSON.stringify(JSON.stringify(sidecar.image))}
    - name: consul
      expression: ${JSON.stringify(JSON.stringify(consul.value))}
    # The pod's own group stays, if it has one: the volume belongs to that then.
    - name: group
      expression: >-
        has(object.spec.securityContext) && has(object.spec.securityContext.fsGroup)
        ? object.spec.securityContext.fsGroup : ${spec.securityContext.fsGroup}
${mutations({ container, volume, mount, label: metadata.labels['spock-sidecar'] })}`;
}

function mutations({ container, volume, mount, label }) {
	return `  mutations:
    # A list such as capabilities.drop cannot be applied, only patched: so the container comes by a patch, and before all others.
    - patchType: JSONPatch
      jsonPatch:
        expression: |
          (has(object.spec.initContainers) ? [] : [JSONPatch{op: "add", path: "/spec/initContainers", value: []}]) +
          [JSONPatch{
            op: "add",
            path: "/spec/initContainers/0",
            value: ${indented(container)}
          }]
    - patchType: ApplyConfiguration
      applyConfiguration:
        expression: |
          Object{
            metadata: Object.metadata{labels: {"spock-sidecar": "${label}"}},
            spec: Object.spec{
              securityContext: Object.spec.securityContext{fsGroup: variables.group},
              volumes: [${indented(cel(volume, 'Object.spec.volumes', '    '))}],
              containers: object.spec.containers.map(c, Object.spec.containers{
                name: c.name,
                volumeMounts: [${cel(mount, 'Object.spec.containers.volumeMounts', '')}]
              })
            }
          }
`;
}

/** As deep as an expression stands in the manifest. */
function indented(text) {
	return text.replaceAll('\n', `\n${' '.repeat(10)}`);
}
