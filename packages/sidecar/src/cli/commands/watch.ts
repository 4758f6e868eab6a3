import type { CallOptions, Diplomat, SnapshotObserver, SourceWatch } from '@spock/client';
import type { ServiceInstance, ServiceSnapshot, SnapshotState } from '@spock/protocol';
import { formatAddress } from '@spock/protocol/node';

import type { ClientFlags } from '../client/sidecar-target.ts';
import { stayConnected } from '../client/stay-connected.ts';
import { commandFailure } from '../client/with-client.ts';
import { formatDuration } from '../output/figures.ts';
import { print } from '../output/output.ts';
import { type Look, lookOf, Page, type Piece, printPage, styled } from '../output/page.ts';
import { queryOf } from './ask.ts';
import { instanceChanges } from './changes.ts';
import { nextStep } from './next-step.ts';

/** `sidecar watch SERVICE`: the instances, then a line for each that changes, until Ctrl-C or until the output is closed. */
export async function watch(service: string, flags: ClientFlags): Promise<void> {
	const query = queryOf(service, flags);
	const look = lookOf(process.stdout);
	await follow<ServiceSnapshot>(flags, {
		first: (client, options) => client.request('getInstances', query, options),
		observe: (client, observer) => client.observeService(query, observer),
		begun: async ({ instances, oversize }, client, options) => {
			if (instances.length > 0 || oversize || flags.json) return;
			process.stderr.write(`no instance yet; ${await nextStep(client, query, options)}\n`);
		},
		show: (snapshot, before) => {
			if (flags.json) print(JSON.stringify(snapshot));
			else printPage(formatSnapshot(snapshot, before, look, new Date()));
		},
	});
}

/** All instances on one line; after a snapshot `before`, a line for each that is different. */
export function formatSnapshot(
	snapshot: ServiceSnapshot,
	before: ServiceSnapshot | undefined,
	look: Look,
	at: Date,
): Page {
	const { instances, held, panic, oversize } = snapshot;
	const marks = `${held ? ' held' : ''}${panic ? ' panic' : ''}${oversize ? ' oversize' : ''}`;
	const state = [...formatState(snapshot, at), styled('warning', marks), '  '];
	const page = new Page(look);
	if (before === undefined || instances.length === 0) return page.line(...state, ...placesOf(instances));
	const changes = instanceChanges(before.instances, instances);
	for (const change of changes) page.line(...state, ...change);
	return changes.length > 0 ? page : page.line(...state, sourceChange(before, snapshot));
}

function placesOf(instances: readonly ServiceInstance[]): Piece[] {
	if (instances.length === 0) return [styled('bad', 'no instance')];
	return instances.flatMap(({ host, port, status }, index): Piece[] => [
		...(index === 0 ? [] : [', ']),
		formatAddress({ host, port }),
		...(status === 'passing' ? [] : [' ', styled('bad', status)]),
	]);
}

function sourceChange(before: SnapshotState, { source }: SnapshotState): Piece {
	if (before.source === source) return 'the same instances';
	return styled(source === 'last-known-good' ? 'warning' : 'good', `${before.source} → ${source}`);
}

/** When, what revision, and how fresh: how each line of a watch begins. */
export function formatState({ revision, source, ageMs }: SnapshotState, at: Date): Piece[] {
	const age = source === 'last-known-good' ? ` (${formatDuration(ageMs)} old)` : '';
	const style = source === 'last-known-good' ? 'warning' : 'good';
	return [styled('dim', `${at.toISOString()}  #${revision} `), styled(style, `${source}${age}`)];
}

/** What a command follows: one subscription and its snapshots. */
export interface Followed<S> {
	/** The current snapshot; rejects without one. */
	first(client: Diplomat, options: CallOptions): Promise<S>;
	observe(client: Diplomat, observer: SnapshotObserver<S>): SourceWatch;
	/** `before` is what was shown last; undefined for the first. */
	show(snapshot: S, before: S | undefined): void;
	/** The first snapshot of all was shown. Never rejects. */
	begun?(snapshot: S, client: Diplomat, options: CallOptions): Promise<void>;
}

/** Shows the snapshot and each change, on one connection after another. */
export function follow<S extends object>(flags: ClientFlags, followed: Followed<S>): Promise<void> {
	let last: S | undefined;
	// The next snapshot of a sidecar is news only if it says something else: another one counts its revisions anew.
	let mayBeKnown = true;
	const { failed, fail } = commandFailure();
	const show = (snapshot: S): void => {
		const isNews = !mayBeKnown || last === undefined || contentOf(snapshot) !== contentOf(last);
		if (isNews) followed.show(snapshot, last);
		last = snapshot;
		mayBeKnown = false;
	};
	return stayConnected(flags, {
		client: 'sidecar watch',
		failed,
		begin: async (client, options, given) => {
			const first = await followed.first(client, options);
			show(first);
			given();
			mayBeKnown = true;
			await followed.begun?.(first, client, options);
			await new Promise<void>((resolve, reject) => {
				followed.observe(client, {
					next: (snapshot) => {
						resolve();
						// Without a connection it is the last one, marked as stale by this process.
						if (client.status().state === 'ready') show(snapshot);
					},
					error: (error) => {
						// A first snapshot that never came is not waited for.
						reject(error);
						if (!error.retryable) fail(error);
					},
				});
			});
		},
		back: () => {
			mayBeKnown = true;
		},
	});
}

/** A snapshot without what differs from one sidecar to the next, and with time. */
function contentOf(snapshot: object): string {
	return JSON.stringify({ ...snapshot, revision: 0, ageMs: 0, verifiedAt: 0 });
}
