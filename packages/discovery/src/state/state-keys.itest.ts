import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { settle, waitFor } from '@spock/testkit';
import { expect, it } from 'vitest';

import { type FakeKeySource, fakeKeySource, keyRecorder, unavailable } from '../../test/fake-key-source.ts';

const app = { key: 'app/', prefix: true };
const entries = [
	{ key: 'app/limits', value: '5' },
	{ key: 'app/secret', value: '/w==', encoding: 'base64' as const },
];

async function temporary() {
	const root = await mkdtemp(join(tmpdir(), 'spock-keys-'));
	return {
		stateDir: join(root, 'state'),
		[Symbol.asyncDispose]: () => rm(root, { recursive: true, force: true }),
	};
}

/** A process that has learned the keys, and has ended. */
async function learned(stateDir: string): Promise<void> {
	const { source, keys, last } = fakeKeySource({ stateDir });
	keys.watch(app, keyRecorder());
	await settle();
	last().answered(entries);
	await source.close();
}

/** A read of a process that starts while the registry is out. */
async function startedInOutage(stateDir: string): Promise<FakeKeySource & { readonly read: Promise<unknown> }> {
	const created = fakeKeySource({ stateDir });
	await created.clock.advance(60_000);
	const read = created.keys.get(app, { timeoutMs: 60_000 });
	read.catch(() => undefined);
	created.last().failed(unavailable);
	return { ...created, read };
}

it('keys outlive the process: served by the next one while the registry is out, readable by its user alone', async () => {
	await using at = await temporary();
	await learned(at.stateDir);
	const next = await startedInOutage(at.stateDir);
	expect(await next.read).toMatchObject({ ...app, entries, source: 'last-known-good' });
	for (const name of await readdir(at.stateDir)) {
		expect((await stat(join(at.stateDir, name))).mode & 0o077).toBe(0);
	}
	next.last().answered([{ key: 'app/limits', value: '6' }]);
	expect(next.keys.peek(app)).toMatchObject({ entries: [{ value: '6' }], source: 'live' });
	await next.source.close();
});

it('a torn file of keys is refused loudly', async () => {
	await using at = await temporary();
	await learned(at.stateDir);
	const [name = ''] = (await readdir(at.stateDir)).filter((one) => one.startsWith('keys'));
	const file = join(at.stateDir, name);
	await writeFile(file, (await readFile(file, 'utf8')).slice(0, -10));
	const next = await startedInOutage(at.stateDir);
	await waitFor('the refusal', () => next.events.some(({ type }) => type === 'state-refused'));
	await waitFor('the failure', () => next.events.some(({ type }) => type === 'watch-failed'));
	const late = expect(next.read).rejects.toMatchObject({ code: 'UNAVAILABLE' });
	await next.clock.advance(60_000);
	await late;
	await next.source.close();
});
