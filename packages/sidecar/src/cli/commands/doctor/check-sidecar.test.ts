import type { CallOptions, Diplomat } from '@spock/client';
import { type BackendStatus, type ExplainReply, SpockError, type StatusReply } from '@spock/protocol';
import { describe, expect, it } from 'vitest';

import { SIDECAR_VERSION } from '../../../foundation/version.ts';
import { checkRegistry } from './check-registry.ts';
import { checkRights, checkSidecar, deniedIn } from './check-sidecar.ts';

const HERE = { isPod: false, command: 'sidecar', hasConsul: false };
const POD = { ...HERE, isPod: true };
const UP: BackendStatus = {
	name: 'consul',
	state: 'up',
	addresses: ['http://c:8500'],
	error: null,
	lastSuccessAgeMs: 5,
};

const status = {
	...{ sidecar: SIDECAR_VERSION, pid: 1, uptimeMs: 227_000, phase: 'serving', ready: true, reasons: [] },
	...{ backend: UP, registrations: [] },
} as unknown as StatusReply;

const down = (error: string, lastSuccessAgeMs: number | null = null): StatusReply => ({
	...status,
	backend: { ...UP, state: 'down', error, lastSuccessAgeMs },
});

/** A client whose lists of services end so. */
const listing = (answer: unknown): Diplomat =>
	({
		request: async () => {
			if (SpockError.is(answer)) throw answer;
			return { services: answer, source: 'live', ageMs: 0 };
		},
	}) as unknown as Diplomat;

const asked = { denied: undefined, options: {} as CallOptions };

describe('the sidecar', () => {
	it('is not ready for its reasons, or another version than this command', () => {
		expect(checkSidecar(status)).toMatchObject({ result: 'ok', found: `${SIDECAR_VERSION}, pid 1, up 3m 47s: ready` });
		const waiting = { ...status, ready: false, reasons: ['no answer yet'] };
		expect(checkSidecar(waiting)).toMatchObject({
			result: 'failed',
			found: expect.stringContaining('not ready: no answer yet'),
		});
		expect(checkSidecar({ ...status, sidecar: '@spock/sidecar/9.9.9' }).result).toBe('warning');
		expect(checkSidecar({ ...status, sidecar: 'my own' }).result).toBe('ok');
	});
});

describe('the registry', () => {
	it.each([
		['connect ECONNREFUSED 127.0.0.1:8500', HERE, /^compare CONSUL_HTTP_ADDR/],
		['connect ECONNREFUSED 127.0.0.1:8500', POD, /in a pod 127\.0\.0\.1 is the pod/],
		['connect ETIMEDOUT 10.0.0.1:8500', POD, /NetworkPolicy/],
		['connect ETIMEDOUT 10.0.0.1:8500', HERE, /firewall/],
		['self-signed certificate', HERE, /CONSUL_CACERT/],
		['No path to datacenter', HERE, /--consul-datacenter/],
	])('%s: what to do', (error, place, next) => {
		const finding = checkRegistry(down(error), place);
		expect(finding).toMatchObject({ result: 'failed', next: expect.stringMatching(next) });
		expect(finding.found).toBe(`consul at http://c:8500 has never answered: ${error}`);
	});

	it('that was heard before: since when it is away; that refuses the token: it answers', () => {
		expect(checkRegistry(down('ECONNREFUSED', 227_000), HERE).found).toContain(
			'has not answered for 3m 47s; old answers are served',
		);
		expect(checkRegistry(down('Consul does not know the ACL token (403)'), HERE).result).toBe('ok');
	});

	it('is several in order: one that is away is a warning', () => {
		const { backend } = down('ECONNREFUSED', 5);
		const members = [backend, { ...UP, name: 'local' }];
		expect(checkRegistry({ ...status, backend: { ...backend, members } }, HERE).result).toBe('warning');
	});

	it('is a file although a Consul is named: a warning', () => {
		const local = { ...status, backend: { ...UP, name: 'local' } };
		expect(checkRegistry(local, HERE).result).toBe('ok');
		expect(checkRegistry(local, { ...HERE, hasConsul: true })).toMatchObject({
			result: 'warning',
			next: expect.stringContaining('--backend local'),
		});
	});
});

describe('another sidecar as the registry', () => {
	const wrongToken = 'it refuses this client: hello: the token is not known (option `token`)';

	it.each([
		[wrongToken, 'give this sidecar a token that the upstream accepts: --upstream-token-file'],
		[
			'no process listens there: start a sidecar',
			'compare --upstream with where that sidecar listens (--listen), its log, and the authority (--upstream-ca)',
		],
	])('%s: the registry fails, with what to do', (why, next) => {
		const { backend } = down(why);
		expect(checkRegistry({ ...status, backend: { ...backend, name: 'spock' } }, HERE)).toEqual({
			...{ check: 'registry', result: 'failed', next },
			found: `spock at http://c:8500 has never answered: ${why}`,
		});
	});

	it('that refuses the token says nothing about the rights of the token for Consul', async () => {
		const error = `no upstream answers (${wrongToken})`;
		expect(deniedIn({ error } as ExplainReply)).toBeUndefined();
		expect(deniedIn({ error: 'Consul does not know the ACL token (403)' } as ExplainReply)).toContain('403');
		const registrations = [{ service: 'till', error: `UNAVAILABLE: the upstream: ${wrongToken}` }];
		const pending = { ...status, registrations } as unknown as StatusReply;
		const unlisted = listing(new SpockError('UNAVAILABLE', error));
		expect(await checkRights(unlisted, pending, asked)).toMatchObject({
			...{ result: 'warning', next: 'see the registry above' },
		});
	});
});

describe('the rights', () => {
	it('a service that may not be read, and a registration that may not be made, name the right that is missing', async () => {
		const denied = 'may not read "barista"';
		expect(await checkRights(listing([]), status, { ...asked, denied })).toMatchObject({
			...{ result: 'failed', found: denied },
			next: expect.stringContaining('service:read'),
		});
		const registrations = [{ service: 'till', error: 'ACL_DENIED: denies the request (403)' }];
		const pending = { ...status, registrations } as unknown as StatusReply;
		expect(await checkRights(listing([]), pending, asked)).toMatchObject({
			...{ result: 'failed', next: 'give the token service:write on "till"' },
		});
	});

	it('a registration that the registry does not know yet is a warning with its id and reason', async () => {
		const error = 'UNAVAILABLE: connect ECONNREFUSED';
		const registrations = [{ service: 'till', id: 't1', state: 'pending', error }];
		const pending = { ...status, registrations } as unknown as StatusReply;
		const away = listing(new SpockError('UNAVAILABLE', 'Consul is away'));
		for (const client of [listing([{ name: 'till' }]), listing([]), away]) {
			expect(await checkRights(client, pending, asked)).toMatchObject({
				result: 'warning',
				found: expect.stringContaining(`till, id t1, is not registered yet: ${error}`),
			});
		}
	});

	it('a list that is denied fails a sidecar that is not ready, and only warns where names can be read', async () => {
		const denial = listing(new SpockError('ACL_DENIED', 'Consul lists no services with this token'));
		expect((await checkRights(denial, status, asked)).result).toBe('warning');
		expect((await checkRights(denial, { ...status, ready: false }, asked)).result).toBe('failed');
	});

	it('an empty list is a warning; a registry without lists has no rights', async () => {
		expect((await checkRights(listing([]), status, asked)).result).toBe('warning');
		expect((await checkRights(listing(new SpockError('UNKNOWN_FUNC', 'DNS')), status, asked)).result).toBe('ok');
	});
});
