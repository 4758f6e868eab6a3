import { openEvents, type ReceivedEvent } from '@spock/client/events';

import type { ClientFlags } from '../../client/sidecar-target.ts';
import { stayConnected } from '../../client/stay-connected.ts';
import { CommandError, EXIT, print, printable } from '../../output/output.ts';
import { askEvents, isKnownStream, meantStream } from './event-groups.ts';
import { placeOf } from './show-events.ts';

interface TailFlags extends ClientFlags {
	readonly from?: string;
	readonly key?: readonly string[];
	readonly count?: string;
}

/** As many were printed as were asked for. */
const COUNTED: unique symbol = Symbol('counted');

/** `sidecar events tail STREAM`: a line for each event, until Ctrl-C. A reader without a group: it takes nothing from anybody. */
export async function tailEvents(stream: string, flags: TailFlags): Promise<void> {
	const from = placeOf('--from', flags.from ?? 'new');
	const countMax = countOf(flags.count);
	let fail: (error: unknown) => void = () => undefined;
	const failed = new Promise<never>((_resolve, reject) => {
		fail = reject;
	});
	// It may reject before anything awaits it.
	failed.catch(() => undefined);
	try {
		await stayConnected(flags, {
			client: 'sidecar events tail',
			failed,
			begin: async (client, options) => {
				const known = await askEvents(client, options);
				if (!isKnownStream(stream, known)) {
					const hint = meantStream(stream, known) ?? 'waiting for the first';
					process.stderr.write(`${printable(`stream ${stream} has no events; ${hint}`)}\n`);
				}
				const filter = flags.key === undefined ? {} : { filter: { keys: flags.key } };
				const events = openEvents({ diplomat: client }).consume(stream, { from, ...filter });
				const follow = async (): Promise<void> => {
					let count = 0;
					for await (const event of events) {
						print(flags.json ? JSON.stringify(event) : formatEvent(event));
						event.ack();
						if (++count === countMax) break;
					}
				};
				// A rejection too: what else would end the connection, and with it the process?
				follow().then(() => fail(COUNTED), fail);
			},
		});
	} catch (error) {
		if (error !== COUNTED) throw error;
	}
}

/** When, where, whose, and what. */
export function formatEvent({ time, position, key, data }: ReceivedEvent): string {
	const name = key === undefined ? '' : ` ${key}`;
	const text = data instanceof Uint8Array ? `(base64) ${Buffer.from(data).toString('base64')}` : JSON.stringify(data);
	return printable(`${new Date(time).toISOString()}  #${position}${name}  ${text}`);
}

function countOf(text: string | undefined): number {
	if (text === undefined) return Number.POSITIVE_INFINITY;
	if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
	throw new CommandError(EXIT.usage, `--count must be a whole number from 1, not ${JSON.stringify(text)}`);
}
