// The process of an app that sends messages to a store. It says that it is ready, prepares for each AppWork, a line of JSON, says so, and
// answers the next line by an AppReport.
import { createInterface } from 'node:readline';

import { MetricsData } from '../model/metrics-data.ts';
import { type AppReport, type AppWork, MessageSupply } from './app-work.ts';
import { sendEvents } from './events-app.ts';
import { sendStream, sendUnary } from './grpc-app.ts';

/** Different messages of a run: far more than a window of zstd, which is at most 8 MiB at its usual levels. */
const DIFFERENT_BYTES_MAX = 32 * 2 ** 20;
/** Sent before, so that what is measured is not the start of the processes; not more than a quarter of what is measured. */
const WARM_UP_BYTES_MAX = 16 * 2 ** 20;

const SENDERS = { unary: sendUnary, stream: sendStream, events: sendEvents } as const;

process.stdout.write('ready\n');
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
for (let { value } = await lines.next(); value !== undefined; { value } = await lines.next()) {
	const work = JSON.parse(value) as AppWork;
	const messages = new MetricsData(work.seed).messages(Math.min(work.bytes, DIFFERENT_BYTES_MAX));
	const send = (bytes: number): Promise<AppReport> => SENDERS[work.row](work, new MessageSupply(messages, bytes));
	await send(Math.min(work.bytes / 4, WARM_UP_BYTES_MAX));
	process.stdout.write('"prepared"\n');
	await lines.next();
	process.stdout.write(`${JSON.stringify(await send(work.bytes))}\n`);
}
process.exit(0);
