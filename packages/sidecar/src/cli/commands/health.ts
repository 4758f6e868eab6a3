import type { StatusReply } from '@spock/protocol';

import { askOnce } from '../client/ask-once.ts';
import { type ClientFlags, type TargetFlags, targetOf, timeoutOf } from '../client/sidecar-target.ts';
import { CommandError, EXIT } from '../output/exit-codes.ts';
import { print } from '../output/output.ts';

/** What a sidecar says of its readiness, in words where it is not ready. */
export interface ReadyAnswer {
	readonly status: StatusReply;
	/** Undefined if it is ready. */
	readonly notReady: string | undefined;
}

/** Asks a sidecar whether it is ready. Rejects with a CommandError if it does not say. */
export async function askReady(flags: TargetFlags, timeoutMs: number): Promise<ReadyAnswer> {
	const status = await askOnce(targetOf(flags), 'status', timeoutMs);
	return { status, notReady: status.ready ? undefined : reasonOf(status) };
}

function reasonOf({ phase, reasons, backend }: StatusReply): string {
	if (reasons.length > 0) return reasons.join('; ');
	const reason =
		phase === 'serving' ? `the backend ${backend.name} is ${backend.state}` : `the sidecar is in phase ${phase}`;
	return `${reason}${backend.error === null ? '' : ` (${backend.error})`}`;
}

/** `sidecar health` */
export async function health(flags: ClientFlags): Promise<void> {
	const { status, notReady } = await askReady(flags, timeoutOf(flags));
	const { ready, reasons, phase, backend } = status;
	if (flags.json) print(JSON.stringify({ ready, reasons, phase, backend }));
	if (notReady !== undefined) throw new CommandError(EXIT.failure, `not ready: ${notReady}`);
	if (!flags.json) print(['ready', ...reasons].join(': '));
}
