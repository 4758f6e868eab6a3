import { FakeClock } from '@spock/testkit';
import { expect, it } from 'vitest';

import { ConnectionEnd, type EndedParts } from './connection-end.ts';

const NOTHING = { close: () => undefined, cancelAll: () => undefined, clear: () => undefined };

function ending(isLocal: boolean): ConnectionEnd {
	const parts = { framed: NOTHING, requests: NOTHING, pushes: NOTHING, readGate: NOTHING };
	return new ConnectionEnd({ ...parts, clock: new FakeClock(), isLocal, slowConsumerMs: 1 } as unknown as EndedParts);
}

const failure = (code: string): Error => Object.assign(new Error(code), { code });

it.each([
	['EPIPE', true, 'client'],
	['ECONNRESET', true, 'client'],
	['EPIPE', false, 'client'],
	['ECONNRESET', false, 'error'],
	['ETIMEDOUT', false, 'error'],
	['EIO', true, 'error'],
])('a push that met %s, with a client on this machine: %s, counts as closed by: %s', (code, isLocal, reason) => {
	expect(ending(isLocal).closed(failure(code))).toBe(reason);
});

it('without an error the client has left', () => {
	expect(ending(true).closed(undefined)).toBe('client');
});
