import { type ClientFlags, print, timeoutOf } from '../client/with-client.ts';
import { CommandError, EXIT } from '../output/exit-codes.ts';
import { askReady } from './ask-ready.ts';

/** `sidecar health` */
export async function health(flags: ClientFlags): Promise<void> {
	const { status, notReady } = await askReady(flags, timeoutOf(flags));
	const { ready, reasons, phase, backend } = status;
	if (flags.json) print(JSON.stringify({ ready, reasons, phase, backend }));
	if (notReady !== undefined) throw new CommandError(EXIT.failure, `not ready: ${notReady}`);
	if (!flags.json) print(['ready', ...reasons].join(': '));
}
