import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { findPeerPrograms, peersWithout } from './peer-programs.ts';

describe('the programs of optional peers', () => {
	let cache = '';
	beforeEach(() => {
		cache = mkdtempSync(join(tmpdir(), 'spock-cache-'));
	});
	afterEach(() => rmSync(cache, { recursive: true }));

	it('are those that the environment names', () => {
		const env = { ...process.env, KFAKE_BIN: '/opt/kfake', DAPRD_BIN: '/opt/daprd' };
		expect(findPeerPrograms(env)).toEqual({ kafka: { path: '/opt/kfake' }, dapr: { path: '/opt/daprd' } });
	});

	it('are not built: a peer whose program is not there is left out, with the command that builds it', () => {
		const env = { PATH: process.env['PATH'], SPOCK_CACHE_DIR: cache };
		const leftOut = peersWithout(findPeerPrograms(env), ['nats', 'dapr', 'kafka']);
		expect(leftOut.map(({ peer }) => peer)).toEqual(['dapr', 'kafka']);
		expect(leftOut[0]?.why).toContain('bash tools/dapr/build.sh');
		expect(leftOut[1]?.why).toContain('bash tools/kfake/build.sh');
	});

	it('are not missed by peers that need none', () => {
		const programs = { kafka: { missing: 'no kfake' }, dapr: { path: '/opt/daprd' } };
		expect(peersWithout(programs, ['emit', 'nats', 'grpc', 'dapr'])).toEqual([]);
	});
});
