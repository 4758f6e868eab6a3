import { CommandError, EXIT } from './exit-codes.ts';
import { type ClientFlags, print, withClient } from './with-client.ts';

/** `sidecar health` */
export async function health(flags: ClientFlags): Promise<void> {
	await withClient(flags, async (client, timeoutMs) => {
		const { ready, reasons, phase, backend } = await client.request('status', null, timeoutMs);
		if (flags.json) print(JSON.stringify({ ready, reasons, phase, backend }));
		if (!ready) {
			const reason =
				phase === 'serving' ? `the backend ${backend.name} is ${backend.state}` : `it is in phase ${phase}`;
			throw new CommandError(
				EXIT.failure,
				`not ready: ${reason}${backend.error === null ? '' : ` (${backend.error})`}`,
			);
		}
		if (!flags.json) print(['ready', ...reasons].join(': '));
	});
}
