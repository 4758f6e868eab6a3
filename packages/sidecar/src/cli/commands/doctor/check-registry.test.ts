import type { AddressStatus, BackendStatus, StatusReply } from '@spock/protocol';
import { expect, it } from 'vitest';

import { checkRegistry } from './check-registry.ts';

const HERE = { isPod: false, command: 'sidecar', hasConsul: false };
const AT = Date.parse('2026-01-02T03:55:20');
const URLS = ['http://a:8500', 'http://b:8500', 'http://c:8500'] as const;

function place(number: 0 | 1 | 2, is: Partial<AddressStatus> = {}): AddressStatus {
	const up = { state: 'up', isAsked: number === 0, lastSuccessAgeMs: 5, error: null, failingForMs: null } as const;
	return { address: URLS[number], ...up, ...is };
}

const REFUSED: Partial<AddressStatus> = { state: 'down', error: 'connect ECONNREFUSED', failingForMs: 60_000 };

function found(addressStatus: readonly AddressStatus[], is: Partial<BackendStatus> = {}) {
	const backend: BackendStatus = {
		...{ name: 'consul', state: 'up', addresses: URLS, error: null, lastSuccessAgeMs: 5, addressStatus },
		...is,
	};
	return checkRegistry({ backend, reasons: [] } as unknown as StatusReply, HERE, AT);
}

it('one of several addresses that refuses is a warning with its time, and does not count as one that answers', () => {
	expect(found([place(0, { ...REFUSED, lastSuccessAgeMs: 60_000 }), place(1), place(2)])).toMatchObject({
		result: 'warning',
		found:
			'consul at http://b:8500, http://c:8500 answers; 1 of 3 addresses fails: http://a:8500 refuses, since 03:54:20',
		next: 'start Consul there again; until then the other addresses are used',
	});
});

it('an address that never answered is compared with the settings; one that was not asked yet does not answer', () => {
	const never = found([place(0), place(1, { ...REFUSED, error: 'getaddrinfo ENOTFOUND', lastSuccessAgeMs: null })]);
	expect(never).toMatchObject({ result: 'warning', next: expect.stringContaining('compare CONSUL_HTTP_ADDR') });
	expect(never.found).toContain('http://b:8500, since 03:54:20: getaddrinfo ENOTFOUND');
	const untried = found([place(0), place(1, { state: 'untried', lastSuccessAgeMs: null })]);
	expect(untried).toMatchObject({
		result: 'ok',
		found: 'consul at http://a:8500 answers; not asked yet: http://b:8500',
	});
});

it('without a leader the registry fails, with which answer and which do not, and the server that is missing', () => {
	const error = 'no leader: http://a:8500 answers without one; http://b:8500 and http://c:8500 fail';
	const places = [place(0, { state: 'no-leader', error: 'it knows no leader' }), place(1, REFUSED), place(2, REFUSED)];
	expect(found(places, { state: 'down', error })).toMatchObject({
		result: 'failed',
		found: `consul: ${error}`,
		next: expect.stringContaining('start another server'),
	});
});

it('a Consul that answered before is asked about with the time, and not for its address', () => {
	const places = [place(0, { ...REFUSED, lastSuccessAgeMs: 42_000 })];
	const down = { state: 'down', error: 'connect ECONNREFUSED', lastSuccessAgeMs: 42_000 } as const;
	expect(found(places, down).next).toBe('it answered here until 03:54:38: is Consul running?');
	expect(found(places, { ...down, lastSuccessAgeMs: null }).next).toContain('compare CONSUL_HTTP_ADDR');
	expect(found(places, { ...down, error: 'it answered 401' }).next).toContain('CONSUL_HTTP_AUTH=USER:PASSWORD');
});

it('a file does not answer: it is served, or cannot be used since it broke', () => {
	const file = { name: 'local', addresses: ['/s.json'], addressStatus: undefined } as unknown as BackendStatus;
	expect(found([], file)).toMatchObject({ result: 'ok', found: 'local: /s.json is served' });
	expect(found([], { ...file, state: 'down', error: 'line 3: expected ,', lastSuccessAgeMs: 60_000 })).toMatchObject({
		found: 'local: /s.json cannot be used since 03:54:20; its last version is served: line 3: expected ,',
		next: 'fix /s.json: it is read again when it changes',
	});
});
