import { inspect } from 'node:util';

import { fakeKey, fakeSnapshot, settle } from '@spock/testkit';
import { expect, it } from 'vitest';

import { barista, registering } from '../test/registering-sidecar.ts';
import { simulate } from '../test/simulated-client.ts';
import { CLIENT_VERSION } from './foundation/version.ts';

it('console.log shows what a client and what it gives are, and no secret', async () => {
	const { diplomat, sidecar } = await simulate({ token: 'tok-secret' }, { handle: registering });
	sidecar.publish(fakeSnapshot('barista', 1, ['10.0.0.1:80']));
	sidecar.publishKey(fakeKey('db/password', 1, 'key-secret'));
	const lease = await diplomat.acquire('barista');
	const registration = await diplomat.register(barista);
	const config = diplomat.config('db/password');
	await config.ready();
	const call = diplomat.ping();
	const text = inspect(diplomat);
	expect(text).toMatch(/^Diplomat \{/);
	for (const part of [
		`version: '${CLIENT_VERSION}'`,
		"state: 'ready'",
		"address: '/nowhere/simulated.sock'",
		'inFlight: 1',
	]) {
		expect(text).toContain(part);
	}
	await call;
	expect(inspect(registration)).toMatch(/^Registration \{.*id: 'b1'.*state: 'registered'/s);
	expect(inspect(config)).toMatch(/^Config \{.*key: 'db\/password'.*source: 'live'/s);
	expect(inspect(lease)).toMatch(/^Lease \{.*service: 'barista'.*host: '10\.0\.0\.1'/s);
	const all = inspect({ diplomat, registration, config, lease }, { depth: null, showHidden: true });
	expect(all).not.toContain('secret');
	expect(inspect({ a: { diplomat } }, { depth: 1 })).toContain('[Diplomat]');
	await diplomat.close();
	await settle();
	expect(inspect(diplomat)).toContain("state: 'closed'");
});
