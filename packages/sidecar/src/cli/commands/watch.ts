import {
	type EventMap,
	type FuncData,
	type FuncReply,
	isServing,
	queryKey,
	type ServiceSnapshot,
} from '@spock/protocol';

import { stayConnected } from '../client/stay-connected.ts';
import type { WireClient } from '../client/wire-client.ts';
import type { ClientFlags } from '../client/with-client.ts';
import { print, printable } from '../output/output.ts';
import { nextStep, type QueryFlags, queryOf } from './ask.ts';

interface WatchFlags extends ClientFlags, QueryFlags {}

/** `sidecar watch SERVICE`: a line for each change until Ctrl-C or until nobody reads the lines any more. */
export async function watch(service: string, flags: WatchFlags): Promise<void> {
	const query = queryOf(service, flags);
	await follow(flags, {
		func: 'watchService',
		query,
		event: 'service',
		isMine: (snapshot) => queryKey(snapshot) === queryKey(query),
		begun: async ({ instances, oversize }, client, timeoutMs) => {
			if (instances.length > 0 || oversize || flags.json) return;
			process.stderr.write(`no instance yet: ${await nextStep(client, query, timeoutMs)}\n`);
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

/** What a command follows: one subscription and its pushes. */
export interface Followed<F extends 'watchService' | 'watchKey'> {
	readonly func: F;
	readonly query: FuncData<F>;
	readonly event: keyof EventMap;
	/** True for a push of this subscription. */
	isMine(snapshot: FuncReply<F>): boolean;
	show(snapshot: FuncReply<F>): void;
	/** The first snapshot of all was shown; asked for more on the same connection. Never rejects. */
	begun?(snapshot: FuncReply<F>, client: WireClient, timeoutMs: number): Promise<void>;
}

/** Shows the snapshot and each change, on one connection after another. */
export function follow<F extends 'watchService' | 'watchKey'>(
	flags: ClientFlags,
	followed: Followed<F>,
): Promise<void> {
	const { func, query, event: wanted, isMine, show } = followed;
	let shown: string | undefined;
	const showNews = (snapshot: FuncReply<F>): void => {
		shown = contentOf(snapshot);
		show(snapshot);
	};
	return stayConnected(flags, {
		client: 'sidecar watch',
		begin: async (client, timeoutMs, held) => {
			client.onPush = (event, data) => {
				if (event === wanted && isMine(data as FuncReply<F>)) showNews(data as FuncReply<F>);
			};
			const snapshot = await client.request(func, query, timeoutMs);
			// Another sidecar counts its revisions anew: what it says first is news only if it says something else.
			const isFirst = shown === undefined;
			if (contentOf(snapshot) !== shown) showNews(snapshot);
			held();
			if (isFirst) await followed.begun?.(snapshot, client, timeoutMs);
		},
	});
}

/** A snapshot without what differs from one sidecar to the next, and with time. */
function contentOf(snapshot: object): string {
	return JSON.stringify({ ...snapshot, revision: 0, ageMs: 0, verifiedAt: 0 });
}
