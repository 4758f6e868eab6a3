import type { ServiceInstance } from '@spock/protocol';
import { describe, expect, it } from 'vitest';

import { instance } from '../../test/fake-backend-source.ts';
import { instancesBody, readInstancesBody, readListBody, readVerifiedBody } from './state-body.ts';
import { decodeStateFile, encodeStateFile, StateFileError } from './state-file.ts';

const SCOPE = 'consul datacenter=dc1';
const query = { service: 'barista', tags: ['v1'] };
const instances: readonly ServiceInstance[] = [
	{ ...instance('a'), tags: ['v1'], meta: { rack: 'b7' }, zone: 'eu', status: 'warning', weight: 0 },
	instance('é\n"'),
];
const { text } = encodeStateFile(SCOPE, 'instances', instancesBody(query, { instances, verifiedAt: 1234 }));

function refusalOf(read: () => unknown): string {
	try {
		read();
	} catch (error) {
		if (error instanceof StateFileError) return error.refusal;
		throw error;
	}
	return 'none';
}

describe('a state file', () => {
	it('gives back what was written', () => {
		const { body } = decodeStateFile(text, SCOPE, 'instances');
		expect(readInstancesBody(body, query)).toEqual({ verifiedAt: 1234, instances });
	});

	it('cut off anywhere it is refused as torn or foreign, and never read as something else', () => {
		for (let length = 0; length < text.length; length++) {
			expect(refusalOf(() => decodeStateFile(text.slice(0, length), SCOPE, 'instances'))).toMatch(/torn|foreign/);
		}
		expect(refusalOf(() => decodeStateFile(text.slice(0, -1), SCOPE, 'instances'))).toBe('torn');
		expect(refusalOf(() => decodeStateFile('', SCOPE, 'instances'))).toBe('torn');
	});

	it('with any character changed it is refused', () => {
		for (let at = 0; at < text.length; at++) {
			const changed = `${text.slice(0, at)}${text[at] === '7' ? '8' : '7'}${text.slice(at + 1)}`;
			expect(
				refusalOf(() => decodeStateFile(changed, SCOPE, 'instances')),
				changed,
			).not.toBe('none');
		}
		expect(refusalOf(() => decodeStateFile(`${text}x\n`, SCOPE, 'instances'))).toBe('torn');
		expect(refusalOf(() => decodeStateFile(text.replaceAll(/[^\n]/g, '\0'), SCOPE, 'instances'))).toBe('foreign');
	});

	it('of another version, registry or kind, or of another program, it is refused for that', () => {
		const read = (changed: string, scope = SCOPE) => refusalOf(() => decodeStateFile(changed, scope, 'instances'));
		expect(read(text.replace('"version":1', '"version":2'))).toBe('version');
		expect(read(text, 'consul datacenter=dc2')).toBe('scope');
		expect(read('{"services":{}}\n')).toBe('foreign');
		expect(read('hello\n')).toBe('foreign');
		expect(read(encodeStateFile(SCOPE, 'list', {}).text)).toBe('foreign');
		// A scope that is changed in the file does not make it one of ours.
		expect(read(encodeStateFile('other', 'instances', {}).text.replace('"scope":"other"', `"scope":"${SCOPE}"`))).toBe(
			'torn',
		);
	});

	it('about another question it is refused', () => {
		const { body } = decodeStateFile(text, SCOPE, 'instances');
		expect(refusalOf(() => readInstancesBody(body, { service: 'barista' }))).toBe('foreign');
		expect(refusalOf(() => readListBody({ key: 'dc1', verifiedAt: 1, services: [] }, 'dc2'))).toBe('foreign');
	});

	it.each([
		['no object', 5],
		['no time', { key: 'barista', instances: [] }],
		['a time that is no number', { key: 'barista', verifiedAt: '1', instances: [] }],
		['no list', { key: 'barista', verifiedAt: 1, instances: {} }],
		['no instance', { key: 'barista', verifiedAt: 1, instances: [null] }],
		['a port out of range', { key: 'barista', verifiedAt: 1, instances: [{ ...instance('a'), port: 70_000 }] }],
		['an unknown status', { key: 'barista', verifiedAt: 1, instances: [{ ...instance('a'), status: 'fine' }] }],
		['tags of numbers', { key: 'barista', verifiedAt: 1, instances: [{ ...instance('a'), tags: [1] }] }],
		['meta of numbers', { key: 'barista', verifiedAt: 1, instances: [{ ...instance('a'), meta: { a: 1 } }] }],
		['a negative weight', { key: 'barista', verifiedAt: 1, instances: [{ ...instance('a'), weight: -1 }] }],
	])('with a checksum that fits and %s it is refused', (_what, body) => {
		expect(refusalOf(() => readInstancesBody(body, { service: 'barista' }))).toBe('foreign');
	});

	it('lists and times of another shape are refused', () => {
		const list = (services: unknown) => refusalOf(() => readListBody({ key: '', verifiedAt: 1, services }, ''));
		expect([list([{ name: 'a', tags: [] }]), list([{ name: 1, tags: [] }]), list([{ name: 'a' }]), list(null)]).toEqual(
			['none', 'foreign', 'foreign', 'foreign'],
		);
		expect(refusalOf(() => readVerifiedBody({ a: 'x' }))).toBe('foreign');
		expect(readVerifiedBody({ a: 5 })).toEqual(new Map([['a', 5]]));
	});
});
