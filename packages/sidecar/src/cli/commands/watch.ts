import type { CallOptions, Diplomat, SnapshotObserver, SourceWatch } from '@spock/client';
import { isServing, type ServiceSnapshot } from '@spock/protocol';

import type { ClientFlags } from '../client/sidecar-target.ts';
import { stayConnected } from '../client/stay-connected.ts';
import { commandFailure } from '../client/with-client.ts';
import { print, printable } from '../output/output.ts';
import { nextStep, queryOf } from './ask.ts';

/** `sidecar watch SERVICE`: a line for each change until Ctrl-C or until the output is closed. */
export async function watch(service: string, flags: ClientFlags): Promise<void> {
	const query = queryOf(service, flags);
	await follow<ServiceSnapshot>(flags, {
		first: (client, options) => client.request('getInstances', query, options),
		observe: (client, observer) => client.observeService(query, observer),
		begun: async ({ instances, oversize }, client, options) => {
			if (instances.length > 0 || oversize || flags.json) return;
			process.stderr.write(`no instance yet; ${await nextStep(client, query, options)}\n`);
		},
		show: (snapshot) => print(flags.json ? JSON.stringify(snapshot) : printable(formatSnapshot(snapshot))),
	});
}

/** One line for people: when, what revision, how fresh, and who gets work. */
export function formatSnapshot({ revision, source, ageMs, instances, held, panic, oversize }: ServiceSnapshot): string {
	const places = instances.map((instance) => {
		const mark = isServing(instance) && instance.status === 'passing' ? '' : ` ${instance.status}`;
		return `${instance.host}:${instance.port}${mark}`;
	});
	const marks = `${held ? ' held' : ''}${panic ? ' panic' : ''}${oversize ? ' oversize' : ''}`;
	return `${formatState({ revision, source, ageMs })}${marks}  ${places.join(', ') || 'no instance'}`;
}

/** When, what revision, and how fresh: how each line of a watch begins. */
export function formatState({
	revision,
	source,
	ageMs,
}: Pick<ServiceSnapshot, 'revision' | 'source' | 'ageMs'>): string {
	const age = source === 'last-known-good' ? ` (${(ageMs / 1000).toFixed(1)} s old)` : '';
	return `${new Date().toISOString()}  #${revision} ${source}${age}`;
}

/** What a command follows: one subscription and its snapshots. */
export interface Followed<S> {
	/** The current snapshot; rejects without one. */
	first(client: Diplomat, options: CallOptions): Promise<S>;
	observe(client: Diplomat, observer: SnapshotObserver<S>): SourceWatch;
	show(snapshot: S): void;
	/** The first snapshot of all was shown. Never rejects. */
	begun?(snapshot: S, client: Diplomat, options: CallOptions): Promise<void>;
}

/** Shows the snapshot and each change, on one connection after another. */
export function follow<S extends object>(flags: ClientFlags, followed: Followed<S>): Promise<void> {
	let shown: string | undefined;
	// The next snapshot of a sidecar is news only if it says something else: another one counts its revisions anew.
	let mayBeKnown = true;
	const { failed, fail } = commandFailure();
	const show = (snapshot: S): void => {
		const content = contentOf(snapshot);
		if (!mayBeKnown || content !== shown) followed.show(snapshot);
		shown = content;
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
