import { RECORD_BYTES_MAX } from '@spock/discovery';
import { systemClock } from '@spock/protocol/internal';

import { stayConnected } from '../client/stay-connected.ts';
import type { WireClient } from '../client/wire-client.ts';
import type { ClientFlags } from '../client/with-client.ts';
import { CommandError, EXIT } from '../output/exit-codes.ts';
import { print } from '../output/output.ts';
import { RecordWriter } from './record-writer.ts';
import { RecordedServices } from './recorded-services.ts';

/** Flags of `sidecar record`. */
export interface RecordFlags extends ClientFlags {
	readonly service?: readonly string[];
	readonly maxBytes?: string;
}

/** How often it looks for services that are new, or had no answer. */
const LOOK_MS = 2000;
const BYTES_MIN = 4096;

/**
 * `sidecar record FILE`: writes what readers of services are told, until Ctrl-C or SIGTERM. A sidecar that restarts is waited
 * for; what was not seen meanwhile is marked as a gap. Ends with 1 when the file is full or cannot be written.
 */
export async function record(file: string, flags: RecordFlags): Promise<void> {
	const { service: named } = flags;
	const bytesMax = bytesMaxOf(flags);
	let fail: (error: CommandError) => void = () => undefined;
	const failed = new Promise<never>((_resolve, reject) => {
		fail = reject;
	});
	// Whoever waits for it may not have begun to.
	failed.catch(() => undefined);
	let writer: RecordWriter | undefined;
	let isEnding = false;
	const begin = async (client: WireClient, timeoutMs: number, held: () => void): Promise<void> => {
		const { sidecar } = await client.request('status', null, timeoutMs);
		const isFirst = writer === undefined;
		// Not before a sidecar has answered: a wrong address leaves no file.
		writer ??= new RecordWriter({
			file,
			header: { record: 'spock', version: 1, sidecar, services: named ?? null },
			bytesMax,
			clock: systemClock,
			failed: (error) => fail(error),
		});
		const into = writer;
		if (!isFirst) into.mark('back');
		const services = new RecordedServices(client, into, timeoutMs);
		const without = await services.look(named).catch((error: unknown) => {
			// Nothing was recorded: what is left of it must not be in the way of the next try.
			if (isFirst) {
				into.discard();
				writer = undefined;
			}
			throw error;
		});
		if (isFirst) into.mark('begun');
		if (isFirst) print(`recording into ${file}${without > 0 ? `; ${without} services have no answer yet` : ''}`);
		held();
		const timer = setInterval(() => services.look(named).catch(() => client.close()), LOOK_MS);
		void client.closed.then(() => {
			clearInterval(timer);
			if (!isEnding) into.mark('gap', 'the sidecar is gone');
		});
	};
	const end = async (): Promise<void> => {
		isEnding = true;
	};
	try {
		await stayConnected(flags, { client: 'sidecar record', begin, end, failed });
	} finally {
		writer?.end('stopped');
		if (writer !== undefined) print(`recorded ${writer.lines} lines, ${writer.bytes} bytes, in ${file}`);
	}
}

function bytesMaxOf({ maxBytes }: RecordFlags): number {
	if (maxBytes === undefined) return RECORD_BYTES_MAX;
	const bytesMax = /^\d+$/.test(maxBytes) ? Number(maxBytes) : 0;
	if (bytesMax >= BYTES_MIN && bytesMax <= RECORD_BYTES_MAX) return bytesMax;
	const message = `--max-bytes must be a whole number from ${BYTES_MIN} to ${RECORD_BYTES_MAX}, not ${maxBytes}`;
	throw new CommandError(EXIT.usage, message);
}
