import { SpockError } from '@spock/protocol';
import { describe, expect, it } from 'vitest';

import { instance } from '../../test/fake-backend-source.ts';
import { refuseIfDenied } from './acl-check.ts';
import type { ConsulHttp } from './consul-http.ts';
import type { ConsulQuestion } from './consul-question.ts';

const barista = { service: 'barista' };
const signal = new AbortController().signal;

/** A Consul that says of each resource whether it may be read, or what the function throws. */
function consul(answer: () => unknown) {
	const counts = { asked: 0 };
	const http = {
		placeParameters: () => ({}),
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
