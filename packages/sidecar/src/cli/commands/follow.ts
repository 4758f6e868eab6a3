import type { EventMap, FuncData, FuncReply } from '@spock/protocol';

import { stayConnected } from '../client/stay-connected.ts';
import type { WireClient } from '../client/wire-client.ts';
import type { ClientFlags } from '../client/with-client.ts';

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
