import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { ServiceSnapshot } from '@spock/protocol';
import { settle, waitFor } from '@spock/testkit';
import { expect } from 'vitest';

import type { DiscoveryEvent } from '../src/foundation/discovery-event.ts';
import { stateFileName } from '../src/state/state-file.ts';
import { A, createSource, query, recorder, refused } from './fake-backend-source.ts';

/** A state directory of one test. */
export interface Place extends AsyncDisposable {
	readonly stateDir: string;
	file(name?: string): string;
}

/** Makes one. The caller disposes of it. */
export async function place(): Promise<Place> {
	const root = await mkdtemp(join(tmpdir(), 'spock-state-'));
	const stateDir = join(root, 'state');
	return {
		stateDir,
		file: (name = stateFileName('instances', 'barista')) => join(stateDir, name),
		[Symbol.asyncDispose]: () => rm(root, { recursive: true, force: true }),
	};
}

/** A source, and what its backend and its clock do. */
export type Created = ReturnType<typeof createSource>;

/** A process that serves A and has written it. */
export async function learned(
	{ stateDir, file }: Place,
	options: Parameters<typeof createSource>[0] = {},
): Promise<Created> {
	const created = createSource({ stateDir, stateScope: 'dc1', ...options });
	created.source.watch(query, recorder());
	await settle();
	created.last().answered(A);
	await flushed(created);
	expect(JSON.parse((await readFile(file(), 'utf8')).split('\n')[1] ?? '')).toMatchObject({ key: 'barista' });
	return created;
}

/** Lets the delay pass and waits for the write. */
export async function flushed(created: Created): Promise<void> {
	const count = writes(created).length;
	await created.clock.advance(1000);
	await written(created, count);
}

/** Waits for another write than these. Where one was still running, the next is planned from its end on. */
export async function written(created: Created, count: number): Promise<void> {
	await waitFor('a write', async () => {
		if (writes(created).length > count) return true;
		await created.clock.advance(50);
		return false;
	});
	await settle();
}

/** All writes so far, good and bad. */
export const writes = ({ events }: Created): DiscoveryEvent[] => events.filter(({ type }) => type === 'state-write');
/** Why files were refused so far. */
export const refusals = ({ events }: Created): string[] =>
	events.flatMap((event: DiscoveryEvent) => (event.type === 'state-refused' ? [event.refusal] : []));

/** A process that starts this long after the other one, while the registry is out. */
export async function startedInOutage(
	{ stateDir }: Place,
	afterMs: number,
	options: Parameters<typeof createSource>[0] = {},
): Promise<Created & { readonly read: Promise<ServiceSnapshot> }> {
	const created = createSource({ stateDir, stateScope: 'dc1', ...options });
	await created.clock.advance(afterMs);
	const read = created.source.get(query, { timeoutMs: 60_000 });
	read.catch(() => undefined);
	created.last().failed(refused);
	return { ...created, read };
}

/** How a read fails at its deadline: not before the file was looked at, and the registry has failed. */
export async function failure(created: Created, read: Promise<unknown>): Promise<unknown> {
	await waitFor('the failure', () => created.events.some(({ type }) => type === 'watch-failed'));
	const error = read.catch((reason: unknown) => reason);
	await created.clock.advance(60_000);
	return error;
}
