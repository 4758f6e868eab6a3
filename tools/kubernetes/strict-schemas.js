// JSON schemas for kubeconform out of what Kubernetes publishes of its API. They are strict: a field that the API does not know is
// refused, where an API server without `--validate=strict` would drop it without a word.
// https://kubernetes.io/docs/concepts/overview/kubernetes-api/#openapi-interface-definition

const DEFINITIONS = '#/definitions/';

/** These are strings in the published description, and may be numbers too. */
const STRING_OR_NUMBER = {
	'io.k8s.apimachinery.pkg.util.intstr.IntOrString': { type: ['string', 'integer'] },
	'io.k8s.apimachinery.pkg.api.resource.Quantity': { type: ['string', 'number'] },
};
const KEPT = [
	'type',
	'enum',
	'required',
	'pattern',
	'minimum',
	'maximum',
	'minItems',
	'maxItems',
	'minLength',
	'maxLength',
];

/**
 * The schema, without what only describes, and closed wherever it lists its properties.
 * `onReference` is told every definition that it refers to.
 */
function strict(schema, onReference) {
	if (schema.$ref !== undefined) {
		onReference(schema.$ref.slice(DEFINITIONS.length));
		return { $ref: schema.$ref };
	}
	if (schema['x-kubernetes-int-or-string'] === true) return { type: ['string', 'integer'] };
	const result = Object.fromEntries(KEPT.filter((key) => key in schema).map((key) => [key, schema[key]]));
	if (schema.items !== undefined) result.items = strict(schema.items, onReference);
	if (schema.properties !== undefined) {
		result.properties = mapValues(schema.properties, (property) => strict(property, onReference));
		result.additionalProperties = schema['x-kubernetes-preserve-unknown-fields'] === true;
	} else if (typeof schema.additionalProperties === 'object') {
		result.additionalProperties = strict(schema.additionalProperties, onReference);
	}
	return result;
}

/** The same, for something that stands in a file of its own: it must say what it is. */
function ofKind(schema, apiVersion, kind) {
	const required = [...new Set([...(schema.required ?? []), 'apiVersion', 'kind', 'metadata'])];
	const properties = { ...schema.properties, apiVersion: { enum: [apiVersion] }, kind: { enum: [kind] } };
	return { ...schema, properties, required };
}

function mapValues(object, change) {
	return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value)]));
}

/** `kind-group-version`, as kubeconform asks for it: in small letters, the group without its domain. */
function schemaName(group, version, kind) {
	return [kind, ...(group === '' ? [] : [group.split('.')[0]]), version].join('-').toLowerCase();
}

/** Schemas by name for every kind of a `swagger.json`, each with all that it refers to, except the lists. */
export function schemasOfApi(swagger) {
	const references = new Map();
	const definitions = {};
	for (const [name, definition] of Object.entries(swagger.definitions)) {
		const found = new Set();
		definitions[name] = STRING_OR_NUMBER[name] ?? strict(definition, (reference) => found.add(reference));
		references.set(name, found);
	}
	const schemas = new Map();
	for (const [name, definition] of Object.entries(swagger.definitions)) {
		// Those of more than one are options of requests.
		const kinds = definition['x-kubernetes-group-version-kind'] ?? [];
		const [only] = kinds;
		if (kinds.length !== 1 || definition.properties?.metadata === undefined || name.endsWith('List')) continue;
		const { group, version, kind } = only;
		const schema = ofKind(definitions[name], group === '' ? version : `${group}/${version}`, kind);
		const needed = Object.fromEntries(reachable(name, references).map((other) => [other, definitions[other]]));
		schemas.set(schemaName(group, version, kind), { ...schema, definitions: needed });
	}
	return schemas;
}

/** What a definition refers to, and what that refers to. */
function reachable(start, references) {
	const seen = new Set();
	const waiting = [...references.get(start)];
	for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
		if (seen.has(name)) continue;
		seen.add(name);
		waiting.push(...references.get(name));
	}
	return [...seen].sort();
}

/** Schemas by name for the served versions of a CustomResourceDefinition. */
export function schemasOfCustomResource(definition) {
	const { group, names, versions } = definition.spec;
	const served = versions.filter((version) => version.served);
	return new Map(
		served.map(({ name, schema }) => {
			const rules = strict(schema.openAPIV3Schema, () => {});
			// What the API server itself adds to every object is not described there.
			rules.properties.metadata = { type: 'object' };
			return [schemaName(group, name, names.kind), ofKind(rules, `${group}/${name}`, names.kind)];
		}),
	);
}
