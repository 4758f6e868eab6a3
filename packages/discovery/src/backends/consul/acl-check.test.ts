import { SpockError } from '@spock/protocol';
import { describe, expect, it } from 'vitest';

import { instance } from '../../../test/fake-backend-source.ts';
import { isGrantedSomething, refuseIfDenied, refuseIfListDenied } from './acl-check.ts';
import type { ConsulQuestion } from './client/consul-client.ts';
import type { ConsulHttp } from './http/consul-http.ts';

const barista = { service: 'barista' };
const signal = new AbortController().signal;

/** A Consul that says of each resource whether it may be read, or what the function throws. */
function consul(answer: () => unknown, hasToken = false) {
	const counts = { asked: 0 };
	const http = {
		placeParameters: () => ({}),
		hasToken: () => Promise.resolve(hasToken),
		call: async <T>({ read }: ConsulQuestion<T>): Promise<T> => {
			counts.asked++;
			return read({ headers: {} } as Parameters<typeof read>[0], answer());
		},
	} as unknown as ConsulHttp;
	return { http, counts };
}

const may = (...all: boolean[]) => all.map((Allow) => ({ Allow }));
const unavailable = (details: object) => () => {
	throw new SpockError('UNAVAILABLE', 'no', { details: { ...details } });
};

describe('whether an empty answer is a denial', () => {
	it('is so where the service, or every node that had an instance, may not be read', async () => {
		const before = [instance('n1/a'), instance('n1/b'), instance('n2/c')];
		for (const answer of [may(false, true, true), may(true, false, false)]) {
			await expect(refuseIfDenied(consul(() => answer).http, barista, before, signal)).rejects.toMatchObject({
				code: 'ACL_DENIED',
				details: { service: 'barista' },
			});
		}
		for (const answer of [may(true, false, true), may(true), [{}, null]]) {
			await refuseIfDenied(consul(() => answer).http, barista, before, signal);
		}
	});

	it('is not asked of what a peer exports', async () => {
		const { http, counts } = consul(() => may(false));
		await refuseIfDenied(http, { service: 'barista', peer: 'east' }, [], signal);
		expect(counts.asked).toBe(0);
	});

	it('is no where Consul answers without a verdict, and unknown where it does not answer', async () => {
		await refuseIfDenied(consul(() => ({ what: 'else' })).http, barista, [], signal);
		await refuseIfDenied(consul(unavailable({ status: 404 })).http, barista, [], signal);
		const silent = refuseIfDenied(consul(unavailable({})).http, barista, [], signal);
		await expect(silent).rejects.toMatchObject({ code: 'UNAVAILABLE' });
		const aborted = consul(() => {
			throw new SpockError('ABORTED', 'enough');
		});
		await expect(refuseIfDenied(aborted.http, barista, [], signal)).rejects.toMatchObject({ code: 'ABORTED' });
	});
});

describe('whether an empty list of services is a denial', () => {
	it('is so where no service of any name may be read, and says whether there is a token', async () => {
		const without = refuseIfListDenied(consul(() => may(false)).http, undefined, { signal });
		await expect(without).rejects.toMatchObject({
			code: 'ACL_DENIED',
			message: expect.stringContaining('without a token'),
		});
		const wrong = refuseIfListDenied(consul(() => may(false), true).http, 'dc2', { signal });
		await expect(wrong).rejects.toMatchObject({ message: expect.stringContaining('with this token') });
		await refuseIfListDenied(consul(() => may(true)).http, undefined, { signal });
	});
});

describe('whether a token was granted something', () => {
	it.each([
		['policies', { Policies: [{ Name: 'kv' }] }, true],
		['a role', { Roles: [{ Name: 'app' }] }, true],
		['an identity', { ServiceIdentities: [{ ServiceName: 'barista' }] }, true],
		['nothing', { Policies: [], Roles: null }, false],
		['what is no list', { Policies: 'all' }, false],
	])('%s', async (_what, token, isGranted) => {
		expect(await isGrantedSomething(consul(() => token, true).http, { signal })).toBe(isGranted);
		expect(await isGrantedSomething(consul(() => token).http, { signal })).toBe(false);
	});
});
