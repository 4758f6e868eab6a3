import { Agent } from 'node:http';

import { systemClock } from '@spock/protocol/internal';
import { startFakeConsul } from '@spock/testkit';
import { expect, it } from 'vitest';

import { FurtherSources } from './further-sources.ts';

const isOpen = (host: string, port: number) => new FurtherSources({ host, port }, new Agent(), systemClock).isOpen();

it('an agent on this machine is reached from further addresses, by its address or its name', async () => {
	await using fake = await startFakeConsul();
	const port = Number(new URL(fake.url).port);
	expect(await isOpen('127.0.0.1', port)).toBe(true);
	expect(await isOpen('localhost', port)).toBe(true);
});

it('one that is away is tried again', async () => {
	await using fake = await startFakeConsul();
	await fake.stop();
	const sources = new FurtherSources(
		{ host: '127.0.0.1', port: Number(new URL(fake.url).port) },
		new Agent(),
		systemClock,
	);
	expect(await sources.isOpen()).toBe(false);
	await fake.listen();
	expect(await sources.isOpen()).toBe(true);
});

// The IPv6 loopback is one address; from 127.0.0.0/8 no other machine is reached, and nothing is sent.
it.each(['::1', '192.0.2.1'])('one at %s is not', async (host) => {
	expect(await isOpen(host, 8500)).toBe(false);
});
