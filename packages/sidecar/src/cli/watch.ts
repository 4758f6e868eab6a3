import { isServing, queryKey, type ServiceSnapshot } from '@spock/protocol';
import { Backoff } from '@spock/protocol/internal';

import { CommandError, EXIT } from './exit-codes.ts';
import { type QueryFlags, queryOf } from './get.ts';
import { WireClient } from './wire-client.ts';
import { addressOf, asCommandError, type ClientFlags, print, timeoutOf } from './with-client.ts';

interface WatchFlags extends ClientFlags, QueryFlags {}

/**
 * `sidecar watch SERVICE`: a line for each change until Ctrl-C or until nobody reads the lines any more, which are clean
 * ends (0). The first connection must succeed; after that it waits for a sidecar that restarts.
 */
export async function watch(service: string, flags: WatchFlags): Promise<void> {
	const stopped = new Promise<void>((resolve) => {
		process.once('SIGINT', () => resolve());
		process.once('SIGTERM', () => resolve());
		process.stdout.once('error', () => resolve());
	});
	const timeoutMs = timeoutOf(flags);
	const address = addressOf(flags);
	const query = queryOf(service, flags);
	const backoff = new Backoff({ delayMsMin: 100, delayMsMax: 2000 });
	const show = (snapshot: ServiceSnapshot): void =>
		print(flags.json ? JSON.stringify(snapshot) : formatSnapshot(snapshot));

	let isFirst = true;
	for (;;) {
		try {
			const client = await WireClient.open(address, timeoutMs);
			client.onPush = (event, data) => {
				if (event === 'service' && queryKey(data as ServiceSnapshot) === queryKey(query)) show(data as ServiceSnapshot);
			};
			try {
				show(await client.request('watchService', query, timeoutMs));
				isFirst = false;
				backoff.reset();
				if ((await Promise.race([stopped.then(() => 'stopped'), client.closed])) === 'stopped') return;
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
		const outcome = await Promise.race([stopped.then(() => 'stopped'), pause]);
		clearTimeout(timer);
		if (outcome === 'stopped') return;
	}
}

/** One line for people: when, what revision, how fresh, and who gets work. */
export function formatSnapshot({ revision, source, ageMs, instances }: ServiceSnapshot): string {
	const age = source === 'last-known-good' ? ` (${(ageMs / 1000).toFixed(1)} s old)` : '';
	const places = instances.map((instance) => {
		const mark = isServing(instance) && instance.status === 'passing' ? '' : ` ${instance.status}`;
		return `${instance.host}:${instance.port}${mark}`;
	});
	return `${new Date().toISOString()}  #${revision} ${source}${age}  ${places.join(', ') || 'no instance'}`;
}
