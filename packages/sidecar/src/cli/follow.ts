import type { EventMap, FuncData, FuncReply } from '@spock/protocol';
import { Backoff } from '@spock/protocol/internal';

import { CommandError, EXIT } from './exit-codes.ts';
import { WireClient } from './wire-client.ts';
import { addressOf, asCommandError, type ClientFlags, timeoutOf } from './with-client.ts';

/** What a command follows: one subscription and its pushes. */
export interface Followed<F extends 'watchService' | 'watchKey'> {
	readonly func: F;
	readonly query: FuncData<F>;
	readonly event: keyof EventMap;
	/** True for a push of this subscription. */
	isMine(snapshot: FuncReply<F>): boolean;
	show(snapshot: FuncReply<F>): void;
}

/**
 * Shows the snapshot and each change until Ctrl-C or until nobody reads the output any more, which are clean ends. The
 * first connection must succeed; after that it waits for a sidecar that restarts.
 */
export async function follow<F extends 'watchService' | 'watchKey'>(
	flags: ClientFlags,
	followed: Followed<F>,
): Promise<void> {
	const stopped = new Promise<'stopped'>((resolve) => {
		process.once('SIGINT', () => resolve('stopped'));
		process.once('SIGTERM', () => resolve('stopped'));
		process.stdout.once('error', () => resolve('stopped'));
	});
	const timeoutMs = timeoutOf(flags);
	const address = addressOf(flags);
	const backoff = new Backoff({ delayMsMin: 100, delayMsMax: 2000 });

	let isFirst = true;
	for (;;) {
		try {
			const client = await WireClient.open(address, timeoutMs);
			client.onPush = (event, data) => {
				if (event === followed.event && followed.isMine(data as FuncReply<F>)) followed.show(data as FuncReply<F>);
			};
			try {
				followed.show(await client.request(followed.func, followed.query, timeoutMs));
				isFirst = false;
				backoff.reset();
				await client.request('hello', { versions: [1], client: 'sidecar', features: ['push', 'goaway'] }, timeoutMs);
				const end = await Promise.race([stopped, client.closed, client.sentAway.then(() => 'sent away')]);
				if (end === 'stopped') return;
				if (end === 'sent away') continue;
			} finally {
				client.close();
			}
			process.stderr.write('the sidecar is gone; waiting for it to come back\n');
		} catch (error) {
			const isGone = error instanceof CommandError && error.exitCode === EXIT.noSidecar;
			if (isFirst || !isGone) throw asCommandError(error);
		}
		let timer: NodeJS.Timeout | undefined;
		const pause = new Promise<void>((resolve) => {
			timer = setTimeout(resolve, backoff.next());
		});
		const outcome = await Promise.race([stopped, pause]);
		clearTimeout(timer);
		if (outcome === 'stopped') return;
	}
}
