import { describe, expect, it } from 'vitest';

import { schemasOfApi, schemasOfCustomResource } from './strict-schemas.js';

const kind = (name: string) => ({
	'x-kubernetes-group-version-kind': [{ group: 'apps.example', version: 'v1', kind: name }],
});
const metadata = { $ref: '#/definitions/Meta', description: 'who it is' };

describe('strict schemas', () => {
	it('close what lists its properties, and say which kind a file is of', () => {
		const spec = {
			type: 'object',
			required: ['size'],
			properties: { size: { type: 'integer', description: 'how many' } },
		};
		const schemas = schemasOfApi({
			definitions: { Thing: { ...kind('Thing'), properties: { metadata, spec } }, Meta: { properties: {} } },
		});
		expect([...schemas.keys()]).toEqual(['thing-apps-v1']);
		expect(schemas.get('thing-apps-v1')).toMatchObject({
			required: ['apiVersion', 'kind', 'metadata'],
			additionalProperties: false,
			properties: {
				apiVersion: { enum: ['apps.example/v1'] },
				kind: { enum: ['Thing'] },
				spec: { required: ['size'], additionalProperties: false, properties: { size: { type: 'integer' } } },
			},
		});
		expect(JSON.stringify(schemas.get('thing-apps-v1'))).not.toContain('description');
	});

	it('carry all that they refer to, also in a circle, and nothing else', () => {
		const tree = { properties: { children: { type: 'array', items: { $ref: '#/definitions/Tree' } } } };
		const schemas = schemasOfApi({
			definitions: {
				Thing: { ...kind('Thing'), properties: { metadata, tree: { $ref: '#/definitions/Tree' } } },
				Tree: tree,
				Meta: { properties: {} },
				Other: { properties: {} },
			},
		});
		expect(Object.keys(schemas.get('thing-apps-v1')?.['definitions'] as object)).toEqual(['Meta', 'Tree']);
	});

	it('leave maps open, by the type of their values', () => {
		const labels = { type: 'object', additionalProperties: { type: 'string' } };
		const schemas = schemasOfApi({
			definitions: { Thing: { ...kind('Thing'), properties: { metadata, labels } }, Meta: { properties: {} } },
		});
		expect(schemas.get('thing-apps-v1')).toMatchObject({ properties: { labels } });
	});

	it('let a port be a name and a quantity a number', () => {
		const port = 'io.k8s.apimachinery.pkg.util.intstr.IntOrString';
		const quantity = 'io.k8s.apimachinery.pkg.api.resource.Quantity';
		const properties = {
			metadata,
			port: { $ref: `#/definitions/${port}` },
			size: { $ref: `#/definitions/${quantity}` },
		};
		const schemas = schemasOfApi({
			definitions: { Thing: { ...kind('Thing'), properties }, Meta: {}, [port]: { type: 'string' }, [quantity]: {} },
		});
		expect(schemas.get('thing-apps-v1')).toMatchObject({
			definitions: { [port]: { type: ['string', 'integer'] }, [quantity]: { type: ['string', 'number'] } },
		});
	});

	it('are made of the served versions of a custom resource', () => {
		const openAPIV3Schema = {
			type: 'object',
			properties: {
				metadata: { type: 'object' },
				free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true, properties: { a: { type: 'string' } } },
				port: { 'x-kubernetes-int-or-string': true },
			},
		};
		const schemas = schemasOfCustomResource({
			spec: {
				group: 'monitoring.example',
				names: { kind: 'Monitor' },
				versions: [
					{ name: 'v1', served: true, schema: { openAPIV3Schema } },
					{ name: 'v0', served: false, schema: { openAPIV3Schema } },
				],
			},
		});
		expect([...schemas.keys()]).toEqual(['monitor-monitoring-v1']);
		expect(schemas.get('monitor-monitoring-v1')).toMatchObject({
			additionalProperties: false,
			properties: {
				metadata: { type: 'object' },
				free: { additionalProperties: true },
				port: { type: ['string', 'integer'] },
				apiVersion: { enum: ['monitoring.example/v1'] },
			},
		});
	});
});
