import { SpockError } from '@spock/protocol';
import { describe, expect, it } from 'vitest';

import type { ConsulHttp } from './consul-http.ts';
import type { ConsulQuestion } from './consul-question.ts';
import { ConsulRegistrar } from './consul-registrar.ts';

/** A Consul that gives these answers, one for each question; a function may throw. */
function registrar(...answers: readonly (() => unknown)[]) {
	const left = [...answers];
	const http = {
		placeParameters: () => ({}),
		call: async <T>({ read }: ConsulQuestion<T>): Promise<T> =>
			read({ headers: {} } as Parameters<typeof read>[0], left.shift()?.()),
	} as unknown as ConsulHttp;
	return new ConsulRegistrar(http);
}

const refused =
	(status: number | undefined, message = 'no') =>
	() => {
		throw new SpockError('UNAVAILABLE', message, { details: { ...(status !== undefined && { status }) } });
	};
const health = { status: 'passing', note: '' } as const;

describe('a write to Consul', () => {
	it.each([
		[400, 'no', 'BAD_REQUEST'],
		[404, 'no', 'NO_SUCH_SERVICE'],
		[500, 'Unknown check ID "x"', 'NO_SUCH_SERVICE'],
		[500, 'No cluster leader', 'UNAVAILABLE'],
		[undefined, 'refused', 'UNAVAILABLE'],
	])('that fails with %s %j is %s', async (status, message, code) => {
		await expect(registrar(refused(status, message)).report('b1', health)).rejects.toMatchObject({ code });
	});

	it('that is denied stays so', async () => {
		const denied = registrar(() => {
			throw new SpockError('ACL_DENIED', 'no');
		});
		await expect(denied.report('b1', health)).rejects.toMatchObject({ code: 'ACL_DENIED' });
	});

	it('answered with a page is none, and taking out what Consul does not know is done', async () => {
		await expect(registrar(() => '<html>').report('b1', health)).rejects.toThrow(/is this address Consul/);
		await registrar(() => ' \n').report('b1', health);
		await registrar(refused(404)).deregister('b1');
		await expect(registrar(refused(undefined)).deregister('b1')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
	});

	it('what it has of ours is read from objects only', async () => {
		await expect(registrar(() => null).owned('me')).rejects.toThrow(/is this address Consul/);
		expect(await registrar(() => ({ b1: { ID: 'b1', Meta: null } })).owned('me')).toEqual([]);
	});
});
