import { RECORD_BYTES_MAX, RecordWriter, ServiceRecorder } from '@spock/discovery';
import { SpockError } from '@spock/protocol';

import type { ClientFlags } from '../client/sidecar-target.ts';
import { stayConnected } from '../client/stay-connected.ts';
import { commandFailure } from '../client/with-client.ts';
import { asUsage, CommandError, EXIT, print } from '../output/output.ts';

/** Flags of `sidecar record`. */
export interface RecordFlags extends ClientFlags {
	readonly service?: readonly string[];
	readonly maxBytes?: string;
}

/** How often it looks for services that are new. */
const LOOK_MS = 2000;
const BYTES_MIN = 4096;

/**
 * `sidecar record FILE`: writes the snapshots that readers of services receive, until Ctrl-C or SIGTERM. A sidecar that restarts is waited
 * for; what was not seen meanwhile is marked as a gap. Ends with 1 when the file is full or cannot be written.
 */
export async function record(file: string, flags: RecordFlags): Promise<void> {
	const { service: named } = flags;
	const bytesMax = bytesMaxOf(flags);
	const { failed, fail: reject } = commandFailure();
	const fail = (error: Error): void =>
		reject(SpockError.is(error) ? error : new CommandError(EXIT.failure, error.message, { cause: error }));
	let writer: RecordWriter | undefined;
	let timer: NodeJS.Timeout | undefined;
	let isAway = false;
	try {
		await stayConnected(flags, {
			client: 'sidecar record',
			failed,
			begin: async (client, options) => {
				const { sidecar } = await client.request('status', null, options);
				// Not before a sidecar has answered: a wrong address leaves no file.
				const into = await asUsage(
					() => new RecordWriter({ file, header: { sidecar, services: named ?? null }, bytesMax, failed: fail }),
				);
				const source = {
					list: () => client.listServices({}, options),
					watch: client.observeService.bind(client),
					isConnected: () => client.status().state === 'ready',
				};
				const recorder = new ServiceRecorder(source, into, fail);
				const without = await recorder.look(named).catch((error: unknown) => {
					// Nothing was recorded: what is left of it must not be in the way of the next try.
					into.discard();
					throw error;
				});
				writer = into;
				into.mark('begun');
				print(`recording into ${file}${without > 0 ? `; ${without} services have no answer yet` : ''}`);
				timer = setInterval(() => {
					if (!source.isConnected()) return;
					recorder.look(named).catch((error: SpockError) => {
						if (!error.retryable) fail(error);
					});
				}, LOOK_MS);
			},
			lost: () => {
				isAway = true;
				writer?.mark('gap', 'the sidecar is gone');
			},
			back: () => {
				// Nothing was missed where another sidecar has taken over.
				if (isAway) writer?.mark('back');
				isAway = false;
			},
		});
	} finally {
		clearInterval(timer);
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
